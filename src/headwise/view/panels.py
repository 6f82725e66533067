"""Figures as data: a sheet of panels, drawn and written as a table from the same numbers.

Several seeds become one line, their median, and a band from the lowest to the highest.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.patches import Patch

from headwise.view.overview import brightest, overlay
from headwise.view.style import drawing, head_colour, new_figure, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

WIDTH = 7.0
"""Inches of a full-width figure in print."""

PANEL = (4.0, 2.3)
MAP = (1.75, 2.1)


@dataclass(frozen=True)
class Curve:
    """A line, with a band where there are several seeds; `label` is empty for lines that share another's entry."""

    label: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    colour: str = "#000000"
    style: Any = "-"
    marker: str = ""
    name: str = ""


@dataclass(frozen=True)
class Panel:
    """Curves on common axes; `marks` are vertical lines (position, colour, style)."""

    title: str
    xlabel: str
    ylabel: str
    curves: tuple[Curve, ...]
    ylim: tuple[float | None, float | None] = (None, None)
    xscale: str = "linear"
    marks: tuple[tuple[float, str, Any], ...] = ()
    legend: bool = True


@dataclass(frozen=True)
class Map:
    """Attention of all heads at one moment, (heads, queries, keys), each head in its colour."""

    title: str
    attention: np.ndarray
    keys: np.ndarray
    queries: np.ndarray
    group_edges: tuple[int, ...] = ()


@dataclass(frozen=True)
class Grid:
    """A plain table, drawn as one and written as it is."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Sheet:
    """Rows of panels, or of maps, or one table."""

    rows: tuple[tuple[Panel | Map | Grid, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = field(default=())


def band(
    label: str,
    steps: Sequence[np.ndarray],
    curves: Sequence[np.ndarray],
    *,
    colour: str,
    style: Any = "-",
    name: str = "",
) -> Curve:
    """Median and range of one curve over seeds; seeds that end early are read on the steps that all share."""
    shared = steps[0]
    for other in steps[1:]:
        shared = np.intersect1d(shared, other)
    rows = np.stack([curve[np.isin(own, shared)] for own, curve in zip(steps, curves, strict=True)])
    if len(rows) == 1:
        return Curve(label, shared, rows[0], colour=colour, style=style, name=name)
    return Curve(label, shared, np.median(rows, 0), rows.min(0), rows.max(0), colour=colour, style=style, name=name)


def draw_sheet(sheet: Sheet, path: Path) -> None:
    """Draw a sheet to a file; the ending chooses the format."""
    with drawing():
        sizes = [_row_size(row) for row in sheet.rows]
        figure = new_figure(max(width for width, _ in sizes), sum(height for _, height in sizes))
        parts = figure.subfigures(len(sheet.rows), 1, height_ratios=[height for _, height in sizes], squeeze=False)
        for part, row in zip(parts[:, 0], sheet.rows, strict=True):
            _draw_row(part, row)
        save(figure, path)


def _row_size(row: Sequence[Panel | Map | Grid]) -> tuple[float, float]:
    if isinstance(row[0], Grid):
        return WIDTH, 0.45 + 0.24 * (len(row[0].rows) + 1)
    if isinstance(row[0], Map):
        return max(WIDTH, MAP[0] * len(row)), MAP[1]
    return (WIDTH if len(row) > 1 else PANEL[0]), PANEL[1]


def _draw_row(part: SubFigure, row: Sequence[Panel | Map | Grid]) -> None:
    axes = part.subplots(1, len(row), squeeze=False)[0]
    for index, (place, item) in enumerate(zip(axes, row, strict=True)):
        if isinstance(item, Map):
            draw_attention(place, item)
            if index == 0:
                place.set_ylabel("query position")
        elif isinstance(item, Panel):
            draw_panel(place, item)
        else:
            draw_grid(place, item)
    if isinstance(row[0], Map):
        heads = [Patch(color=head_colour(h), label=f"head {h + 1}") for h in range(row[0].attention.shape[0])]
        part.legend(handles=heads, loc="outside lower center", ncols=len(heads), handlelength=1.0)


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Curves with their bands; the legend stands below the panel, where it hides nothing."""
    for curve in panel.curves:
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.x, curve.low, curve.high, color=curve.colour, alpha=0.2, lw=0)
        axes.plot(
            curve.x,
            curve.y,
            color=curve.colour,
            ls=curve.style,
            marker=curve.marker or None,
            ms=4,
            label=curve.label or None,
        )
    for position, colour, style in panel.marks:
        axes.axvline(position, color=colour, ls=style, lw=0.9)
    axes.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel, xscale=panel.xscale)
    axes.set_ylim(*panel.ylim)
    if panel.legend and any(curve.label for curve in panel.curves):
        columns = 2 if sum(bool(curve.label) for curve in panel.curves) > 3 else 3
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.24), ncols=columns, handlelength=2.2, columnspacing=1.2)


def draw_attention(axes: Axes, item: Map) -> None:
    """All heads overlaid in their colours, with the far edge of each group as a thin diagonal."""
    picture = overlay(item.attention, gain=brightest(item.attention))
    edges = (item.keys[0] - 0.5, item.keys[-1] + 0.5, item.queries[-1] + 0.5, item.queries[0] - 0.5)
    axes.imshow(picture, extent=edges, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    for lag in item.group_edges:
        axes.plot(item.queries + 0.5 - lag, item.queries, color="#999999", lw=0.5)
    axes.set(title=item.title, xlabel="key position", xlim=edges[:2], ylim=edges[2:])


def draw_grid(axes: Axes, grid: Grid) -> None:
    """A table of text."""
    axes.set_axis_off()
    drawn = axes.table(cellText=[list(row) for row in grid.rows], colLabels=list(grid.columns), loc="center")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(7)
    drawn.auto_set_column_width(list(range(len(grid.columns))))
    for (line, _), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        cell.set_edgecolor("#BBBBBB")
        cell.set_text_props(ha="left", weight="bold" if line == 0 else "normal")


def write_table(sheet: Sheet, path: Path) -> None:
    """The numbers behind a sheet as CSV: curves point by point, maps entry by entry, tables as they are."""
    items = [item for row in sheet.rows for item in row]
    if len(items) == 1 and isinstance(items[0], Grid):
        _write(path, items[0].columns, items[0].rows)
        return
    rows: list[tuple[object, ...]] = []
    for item in items:
        if isinstance(item, Panel):
            rows.extend(_curve_rows(item))
        elif isinstance(item, Map):
            rows.extend(_map_rows(item))
    _write(path, ("panel", "series", "x", "y", "low", "high"), rows)


def _curve_rows(panel: Panel) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for curve in panel.curves:
        low = curve.y if curve.low is None else curve.low
        high = curve.y if curve.high is None else curve.high
        name = curve.name or curve.label
        rows.extend(
            (panel.title, name, f"{x:.10g}", f"{y:.6g}", f"{a:.6g}", f"{b:.6g}")
            for x, y, a, b in zip(curve.x, curve.y, low, high, strict=True)
        )
    return rows


def _map_rows(item: Map) -> list[tuple[object, ...]]:
    """`series` names head and query, `x` is the key, `y` the attention; zeros above the diagonal are left out."""
    return [
        (item.title, f"head {h + 1} query {query}", int(key), f"{item.attention[h, q, k]:.4g}", "", "")
        for h in range(item.attention.shape[0])
        for q, query in enumerate(item.queries)
        for k, key in enumerate(item.keys)
        if key <= query
    ]


def _write(path: Path, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)
