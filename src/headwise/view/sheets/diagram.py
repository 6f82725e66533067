"""A phase diagram: colour and number say the same, so that neither is needed alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.view.labels import plain_label
from headwise.view.panels import CellMap, Sheet
from headwise.view.phase_diagram import Diagram

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

COLUMNS = ("median", "low", "high", "found", "runs", "lower_bound")
MOST_LEVELS = 8
NARROWEST = 2.9
"""Inches of a panel whose title has room."""

FAR = 3


def diagram_sheet(diagrams: Sequence[Diagram]) -> Sheet:
    """One panel per quantity, sharing both axes; below them, what the signs in the cells mean."""
    if not diagrams or not len(diagrams[0].x) or not len(diagrams[0].y):
        raise ConfigError("there is nothing to draw: no run has values of both keys")
    width = max(1.0 + 0.46 * len(diagrams[0].x), NARROWEST)
    panels = tuple(cell_map(diagram) for diagram in diagrams)
    return Sheet((panels,), layout="grid", width=0.3 + width * len(panels), notes=(legend_text(diagrams),))


def cell_map(diagram: Diagram) -> CellMap:
    """One quantity: a cell's colour and large number are the median, the small ones its extent over seeds."""
    texts = np.array(
        [[cell_text(diagram, j, i) for i in range(len(diagram.x))] for j in range(len(diagram.y))], dtype=object
    )
    return CellMap(
        diagram.label,
        KEYS.get(diagram.x_key) or plain_label(diagram.x_key),
        KEYS.get(diagram.y_key) or plain_label(diagram.y_key),
        diagram.x,
        diagram.y,
        tuple(ticks(diagram.x)),
        tuple(ticks(diagram.y)),
        diagram.median,
        texts[..., 0],
        texts[..., 1],
        {name: getattr(diagram, name) for name in COLUMNS},
        diagram.x_key,
        diagram.y_key,
        tuple(whole_levels(diagram)),
        name=diagram.quantity,
    )


def cell_text(diagram: Diagram, j: int, i: int) -> tuple[str, str]:
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


def legend_text(diagrams: Sequence[Diagram]) -> str:
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


def whole_levels(diagram: Diagram) -> list[int]:
    """The integers from the smallest to the largest median, if all are integers and few; else nothing."""
    values = diagram.median[np.isfinite(diagram.median)]
    if not values.size or not np.array_equal(values, np.round(values)) or np.ptp(values) >= MOST_LEVELS:
        return []
    return list(range(int(values.min()), int(values.max()) + 1))


def ticks(values: Sequence[Any]) -> list[str]:
    """A key's values on an axis; as powers of ten if all are and some are far from one."""
    exponents = [round(math.log10(v)) if isinstance(v, int | float) and 0 < v < math.inf else None for v in values]
    powers = all(
        e is not None and math.isclose(v, 10.0**e, rel_tol=1e-9) for v, e in zip(values, exponents, strict=True)
    )
    if powers and any(abs(e) >= FAR for e in exponents if e is not None):
        return [f"$10^{{{e}}}$" for e in exponents]
    return [f"{v:g}" if isinstance(v, int | float) else plain_label(v) for v in values]
