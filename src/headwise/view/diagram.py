"""A phase diagram as a figure: colour and number say the same, so that neither is needed alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from headwise.view.style import drawing, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

KEYS = {
    "task.m": "importance ratio $m$",
    "model.init_scale": "initial scale $u$",
    "model.heads": "heads",
    "task.h": "groups $h$",
    "task.d": "dictionary size $d$",
    "task.T": "length $T$",
    "train.lr": "learning rate",
    "train.batch": "batch",
    "train.samples": "training sequences",
    "train.weight_decay": "weight decay",
}
"""Axis labels of keys that have a usual name; others are shown as they are."""

ABSENT = "#E9E9E9"
MOST_LEVELS = 8
FAR = 3


class Cells(Protocol):
    """What is drawn: medians over two keys, (y, x), with their extent over seeds."""

    @property
    def x_key(self) -> str: ...
    @property
    def y_key(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def x(self) -> Sequence[Any]: ...
    @property
    def y(self) -> Sequence[Any]: ...
    @property
    def median(self) -> np.ndarray: ...
    @property
    def low(self) -> np.ndarray: ...
    @property
    def high(self) -> np.ndarray: ...
    @property
    def found(self) -> np.ndarray: ...
    @property
    def runs(self) -> np.ndarray: ...
    @property
    def lower_bound(self) -> np.ndarray: ...


def draw_diagrams(diagrams: Sequence[Cells], path: Path) -> None:
    """One panel per quantity, sharing both axes; below them, what the signs in the cells mean."""
    with drawing():
        first = diagrams[0]
        width = 1.0 + 0.46 * len(first.x)
        figure = new_figure(0.3 + width * len(diagrams), 1.15 + 0.42 * len(first.y))
        panels = figure.subplots(1, len(diagrams), sharey=True, squeeze=False)[0]
        for axes, diagram in zip(panels, diagrams, strict=True):
            draw_panel(figure, axes, diagram)
        panels[0].set_ylabel(KEYS.get(first.y_key, first.y_key))
        if notes := legend_text(diagrams):
            figure.supxlabel(notes, fontsize=6.5, color="#444444", x=0.01, ha="left")
        save(figure, path)


def draw_panel(figure: Figure, axes: Axes, diagram: Cells) -> None:
    """One quantity: a cell's colour and large number are the median, the small ones its extent over seeds."""
    from matplotlib import colormaps
    from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize

    median = np.ma.masked_invalid(diagram.median)
    marks: list[float] | None = None
    if median.count() and (levels := whole_levels(diagram)):
        shades = colormaps["cividis"](np.linspace(0.2, 0.9, max(len(levels), 2))[-len(levels) :])
        colours, marks = ListedColormap(shades), [float(level) for level in levels]
        norm: Normalize = BoundaryNorm(np.arange(levels[0], levels[-1] + 2) - 0.5, len(levels))
    else:
        colours = ListedColormap(colormaps["cividis"](np.linspace(0.0, 1.0, 256)))
        norm = Normalize(*((median.min(), median.max()) if median.count() else (0.0, 1.0)))
    edges_x, edges_y = np.arange(len(diagram.x) + 1) - 0.5, np.arange(len(diagram.y) + 1) - 0.5
    picture = axes.pcolormesh(
        edges_x, edges_y, median, cmap=colours.with_extremes(bad=ABSENT), norm=norm, edgecolors="white", linewidth=0.8
    )
    for j, i in np.ndindex(diagram.median.shape):
        red, green, blue, _ = colours(norm(diagram.median[j, i])) if np.isfinite(diagram.median[j, i]) else (1, 1, 1, 1)
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
        large, small = cell_text(diagram, j, i)
        axes.text(i, j + (0.13 if small else 0.0), large, ha="center", va="center", fontsize=8, color=ink)
        axes.text(i, j - 0.25, small, ha="center", va="center", fontsize=5.5, color=ink)
    axes.set_xticks(range(len(diagram.x)), ticks(diagram.x))
    axes.set_yticks(range(len(diagram.y)), ticks(diagram.y))
    axes.set(xlabel=KEYS.get(diagram.x_key, diagram.x_key), title=diagram.label)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(picture, ax=axes, shrink=0.9, aspect=25, ticks=marks)
    bar.outline.set_visible(False)
    bar.ax.tick_params(which="minor", length=0)


def cell_text(diagram: Cells, j: int, i: int) -> tuple[str, str]:
    """The median, with a sign where it is a lower bound, and the extent over seeds and how many runs have it."""
    if diagram.runs[j, i] == 0:
        return "", ""
    if diagram.found[j, i] == 0:
        return "–", ""
    small = ""
    if diagram.high[j, i] > diagram.low[j, i]:
        small = f"{diagram.low[j, i]:.3g}–{diagram.high[j, i]:.3g}"
    if diagram.found[j, i] < diagram.runs[j, i]:
        small = f"{small} {diagram.found[j, i]}/{diagram.runs[j, i]}".strip()
    return f"{'≥' if diagram.lower_bound[j, i] else ''}{diagram.median[j, i]:.3g}", small


def legend_text(diagrams: Sequence[Cells]) -> str:
    """Only the signs that occur."""
    ranges = any((d.high > d.low).any() for d in diagrams)
    shown = ": their median, below it their range" if ranges else ""
    notes = [f"{int(max(d.runs.max() for d in diagrams))} runs per cell{shown}."]
    if any(((d.found == 0) & (d.runs > 0)).any() for d in diagrams):
        notes.append("–: detected in no seed.")
    if any(((d.found < d.runs) & (d.found > 0)).any() for d in diagrams):
        notes.append("a/b: detected in a of b seeds.")
    if any(d.lower_bound.any() for d in diagrams):
        notes.append("≥: the runs ended while still learning.")
    return " ".join(notes)


def whole_levels(diagram: Cells) -> list[int]:
    """The integers from the smallest to the largest median, if all are integers and few; else nothing."""
    values = diagram.median[np.isfinite(diagram.median)]
    if not np.array_equal(values, np.round(values)) or np.ptp(values) >= MOST_LEVELS:
        return []
    return list(range(int(values.min()), int(values.max()) + 1))


def ticks(values: Sequence[Any]) -> list[str]:
    """A key's values on an axis; as powers of ten if all are and some are far from one."""
    exponents = [round(math.log10(v)) if isinstance(v, int | float) and v > 0 else None for v in values]
    powers = all(
        e is not None and math.isclose(v, 10.0**e, rel_tol=1e-9) for v, e in zip(values, exponents, strict=True)
    )
    if powers and any(abs(e) >= FAR for e in exponents if e is not None):
        return [f"$10^{{{e}}}$" for e in exponents]
    return [f"{v:g}" if isinstance(v, int | float) else str(v) for v in values]
