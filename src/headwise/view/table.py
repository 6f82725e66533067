"""The numbers behind a sheet as one table: every curve point by point, every map entry by entry, marks, bars and cells.

`x` and `y` are places on the axes of a panel, `x_end` is where a bar or a shaded stretch ends, `low` and `high` are the
edges of a band over seeds, `value` is what a colour stands for. A sheet has the columns that its panels need and no
others. Cells and tables of text have columns of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from headwise.core.csv_text import csv_text
from headwise.view.panels import AttentionMap, CellMap, HeatMap, Mark, Panel, Plot, Sheet, Table, Timeline, panel_name

Row = dict[str, object]

COLUMNS = ("panel", "series", "x", "x_end", "y", "low", "high", "value", "text")
"""The order of the columns that panels share."""


def sheet_rows(sheet: Sheet) -> list[Row]:
    """The table of a sheet, a row per number drawn."""
    return [row for panel in sheet.panels for row in panel_rows(panel)]


def panel_rows(panel: Panel) -> Iterator[Row]:
    """The table of one panel."""
    match panel:
        case Plot():
            return _plot_rows(panel)
        case AttentionMap():
            return _attention_rows(panel)
        case HeatMap():
            return _heat_rows(panel)
        case CellMap():
            return _cell_rows(panel)
        case Timeline():
            return _timeline_rows(panel)
        case Table():
            return (dict(zip(panel.columns, row, strict=True)) for row in panel.rows)


def to_csv(sheet: Sheet) -> str:
    """The table as CSV; a number that is missing is an empty field."""
    rows = sheet_rows(sheet)
    present = list(dict.fromkeys(column for row in rows for column in row))
    shared = [column for column in COLUMNS if column in present] if "panel" in present else []
    columns = [*shared, *(column for column in present if column not in shared)]
    return csv_text(columns, ([shown(row.get(column)) for column in columns] for row in rows))


def shown(value: object) -> str:
    """A number to ten digits, everything else as it is."""
    if value is None or (isinstance(value, float | np.floating) and math.isnan(value)):
        return ""
    if isinstance(value, float | np.floating):
        return f"{value:.10g}"
    return str(value)


def _plot_rows(panel: Plot) -> Iterator[Row]:
    name = panel_name(panel)
    for curve in panel.curves:
        low = [None] * len(curve.x) if curve.low is None else curve.low
        high = [None] * len(curve.x) if curve.high is None else curve.high
        for x, y, a, b in zip(curve.x, curve.y, low, high, strict=True):
            yield {"panel": name, "series": curve.series, "x": x, "y": y, "low": a, "high": b}
    yield from _mark_rows(name, panel.marks)


def _mark_rows(name: str, marks: tuple[Mark, ...]) -> Iterator[Row]:
    for mark in marks:
        yield {"panel": name, "series": mark.name, mark.axis: mark.at}


def _attention_rows(panel: AttentionMap) -> Iterator[Row]:
    """Every cell that a causal model could look at, and every other one that is not zero; then the groups' edges."""
    name = panel_name(panel)
    kept = (panel.keys[None] <= panel.queries[:, None]) | (panel.attention != 0).any(axis=0)
    for head, shares in enumerate(panel.attention):
        for q, k in np.argwhere(kept):
            yield {
                "panel": name,
                "series": f"head {head + 1}",
                "x": panel.keys[k],
                "y": panel.queries[q],
                "value": shares[q, k],
            }
    for group, (x, y) in edge_lines(panel).items():
        for place in zip(x, y, strict=True):
            yield {"panel": name, "series": f"far edge of {group}", "x": place[0], "y": place[1]}


def edge_lines(panel: AttentionMap) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The far edge of each group as a diagonal: the key at lag l from a query is query + 1 - l."""
    ends = panel.queries[[0, -1]].astype(float)
    return {group: (ends + 0.5 - lag, ends) for group, lag in panel.edges.items()}


def _heat_rows(panel: HeatMap) -> Iterator[Row]:
    name = panel_name(panel)
    for j, y in enumerate(panel.y):
        for i, x in enumerate(panel.x):
            yield {"panel": name, "x": x, "y": y, "value": panel.values[j, i]}


def _cell_rows(panel: CellMap) -> Iterator[Row]:
    for j, y in enumerate(panel.y):
        for i, x in enumerate(panel.x):
            cell = {column: values[j, i] for column, values in panel.columns.items()}
            yield {"quantity": panel_name(panel), panel.x_name: x, panel.y_name: y, **cell}


def _timeline_rows(panel: Timeline) -> Iterator[Row]:
    name = panel_name(panel)
    for bar in panel.bars:
        yield {"panel": name, "series": bar.row, "x": bar.start, "x_end": bar.end, "text": bar.text}
    for span in panel.spans:
        yield {"panel": name, "series": span.name, "x": span.start, "x_end": span.end}
    yield from _mark_rows(name, panel.marks)
