"""A drawn figure read back: what matplotlib's artists hold, compared with the CSV written beside it.

The CSV is read as a stranger would read it. Of the sheet only the kind of each panel is used, and its size where the
picture alone does not say it.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from headwise.core.palette import HEADS
from headwise.view.panels import AttentionMap, CellMap, HeatMap, Plot, Sheet, Table, Timeline, panel_name


@dataclass
class Written:
    """What was written: the sheets whose numbers went into a CSV, the figures, and where these went."""

    sheets: list[Sheet] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)


Rows = list[dict[str, str]]
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def assert_drawn_is_written(sheet: Sheet, figure: Figure, text: str) -> None:
    """Every number that the figure shows stands in the CSV, and the other way round."""
    rows = list(csv.DictReader(io.StringIO(text)))
    panels = [ax for ax in figure.axes if ax.get_label() != "<colorbar>"]
    assert len(panels) == len(sheet.panels)
    seen = 0
    for panel, ax in zip(sheet.panels, panels, strict=True):
        match panel:
            case CellMap():
                own = [row for row in rows if row["quantity"] == panel_name(panel)]
                compare_cells(ax, own, panel.x_name, panel.y_name)
            case Table():
                own = rows
                compare_table(ax, own)
            case _:
                own = [row for row in rows if row["panel"] == panel_name(panel)]
                compare = {Plot: compare_plot, AttentionMap: compare_map, HeatMap: compare_heat, Timeline: compare_bars}
                compare[type(panel)](ax, own)
        assert own, f"{panel_name(panel)} has no numbers"
        seen += len(own)
    assert seen == len(rows), "no row belongs to nothing"


def numbers(rows: Rows, column: str) -> np.ndarray:
    return np.array([float(row.get(column) or "nan") for row in rows])


def series(rows: Rows) -> list[Rows]:
    """Rows of one curve, mark or bar after the other."""
    return [list(own) for _, own in groupby(rows, key=lambda row: row["series"])]


def is_mark(rows: Rows) -> bool:
    return len(rows) == 1 and (not rows[0]["x"] or not rows[0]["y"]) and bool(rows[0]["x"] or rows[0]["y"])


def compare_lines(ax: Axes, rows: list[Rows]) -> None:
    assert len(ax.lines) == len(rows)
    for line, own in zip(ax.lines, rows, strict=True):
        x, y = (np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float))
        if is_mark(own):
            drawn, written = (x, own[0]["x"]) if own[0]["x"] else (y, own[0]["y"])
            np.testing.assert_allclose(drawn, float(written), **CLOSE)
            continue
        np.testing.assert_allclose(x, numbers(own, "x"), **CLOSE)
        np.testing.assert_allclose(y, numbers(own, "y"), **CLOSE)


def compare_plot(ax: Axes, rows: Rows) -> None:
    groups = series(rows)
    compare_lines(ax, groups)
    banded = [own for own in groups if np.isfinite(numbers(own, "low")).any()]
    assert len(ax.collections) == len(banded)
    for band, own in zip(ax.collections, banded, strict=True):
        drawn = np.concatenate([path.vertices for path in band.get_paths()])
        x, low, high = (numbers(own, column) for column in ("x", "low", "high"))
        written = np.concatenate([np.stack([x, low], 1), np.stack([x, high], 1)])
        written = written[np.isfinite(written).all(1)]
        scale = 1e-9 * max(1.0, float(np.abs(written).max()))
        for ours, theirs in ((drawn, written), (written, drawn)):
            distance = np.abs(ours[:, None] - theirs[None]).max(-1).min(1)
            assert distance.max() <= scale


def compare_map(ax: Axes, rows: Rows) -> None:
    """Each stripe of a cell has the colour of one head, at the strength of that head's own share there."""
    heads = [own for own in series(rows) if own[0]["value"]]
    compare_lines(ax, [own for own in series(rows) if not own[0]["value"]])
    (image,) = ax.images
    picture = np.asarray(image.get_array())
    left, right, bottom, top = image.get_extent()
    queries = np.arange(round(top + 0.5), round(bottom - 0.5) + 1)
    keys = np.arange(round(left + 0.5), round(right - 0.5) + 1)
    shares = np.zeros((len(heads), len(queries), len(keys)))
    for head, own in enumerate(heads):
        assert own[0]["series"] == f"head {head + 1}"
        places = numbers(own, "y").astype(int) - queries[0], numbers(own, "x").astype(int) - keys[0]
        shares[(head, *places)] = numbers(own, "value")
    stripes = picture.shape[1] // len(keys)
    assert picture.shape == (len(queries), len(keys) * stripes, 3)
    full = np.quantile(shares[shares > 0], 0.98)
    strength = np.minimum(shares / full, 1.0)
    colours = np.array([to_rgb(HEADS[head % len(HEADS)]) for head in range(len(heads))])
    expected = 1 + strength[..., None] * (colours[:, None, None] - 1)
    cells = picture.reshape(len(queries), len(keys), stripes, 3)
    off = np.abs(cells[None] - expected[:, :, :, None]).max(-1)
    assert off.min(axis=0).max() < 1e-7, "every stripe is one of the heads"
    total = shares.sum(0)
    for head in range(len(heads)):
        width = (off[head] < 1e-7).mean(-1)
        alike = sum((np.abs(expected[head] - expected[other]).max(-1) < 1e-7) for other in range(len(heads)))
        alone = (alike == 1) & (total > 0)
        part = np.divide(shares[head], total, out=np.zeros_like(total), where=total > 0)
        np.testing.assert_allclose(width[alone], part[alone], atol=1 / stripes)


def compare_heat(ax: Axes, rows: Rows) -> None:
    (mesh,) = ax.collections
    x, y = np.unique(numbers(rows, "x")), np.unique(numbers(rows, "y"))
    drawn = np.ma.filled(np.ma.asarray(mesh.get_array(), dtype=float), np.nan).reshape(len(y), len(x))
    written = np.full(drawn.shape, np.nan)
    places = np.searchsorted(y, numbers(rows, "y")), np.searchsorted(x, numbers(rows, "x"))
    written[places] = numbers(rows, "value")
    np.testing.assert_allclose(drawn, written, **CLOSE)
    edges = np.asarray(mesh.get_coordinates())
    assert ((edges[0, :-1, 0] < x) & (x < edges[0, 1:, 0])).all()
    assert ((edges[:-1, 0, 1] < y) & (y < edges[1:, 0, 1])).all()


def compare_cells(ax: Axes, rows: Rows, x_name: str, y_name: str) -> None:
    x, y = (list(dict.fromkeys(row[name] for row in rows)) for name in (x_name, y_name))
    drawn = np.ma.filled(np.ma.asarray(ax.collections[0].get_array(), dtype=float), np.nan).reshape(len(y), len(x))
    large, small = ax.texts[::2], ax.texts[1::2]
    assert len(large) == len(small) == len(rows) == drawn.size
    for row, value, number, extent in zip(rows, drawn.flat, large, small, strict=True):
        assert (x.index(row[x_name]), y.index(row[y_name])) == (
            extent.get_position()[0],
            round(extent.get_position()[1]),
        )
        if not row["median"]:
            assert np.isnan(value)
            assert number.get_text() == ("–" if int(row["runs"]) else "")
            continue
        np.testing.assert_allclose(value, float(row["median"]), **CLOSE)
        sign = "≥" if row["lower_bound"] == "True" else ""
        assert number.get_text() == f"{sign}{float(row['median']):.3g}"
        low, high = float(row["low"]), float(row["high"])
        parts = [f"{low:.3g}–{high:.3g}"] if high > low else []
        parts += [f"{row['found']}/{row['runs']}"] if row["found"] != row["runs"] else []
        assert extent.get_text() == " ".join(parts)


def compare_bars(ax: Axes, rows: Rows) -> None:
    bars = [row for row in rows if row["x_end"]]
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(ax.patches) == len(bars)
    for patch, row in zip(ax.patches, bars, strict=True):
        start, end = float(row["x"]), float(row["x_end"])
        np.testing.assert_allclose([patch.get_x(), patch.get_x() + patch.get_width()], [start, end], **CLOSE)
        if row["text"]:
            assert names[round(patch.get_y() + patch.get_height() / 2)] == row["series"]
    written = {row["text"] for row in bars}
    assert {text.get_text() for text in ax.texts} <= written
    compare_lines(ax, [[row] for row in rows if not row["x_end"]])


def compare_table(ax: Axes, rows: Rows) -> None:
    (table,) = ax.tables
    cells = {place: cell.get_text().get_text() for place, cell in table.get_celld().items()}
    assert [cells[0, column] for column in range(len(rows[0]))] == list(rows[0])
    drawn = [[cells[line + 1, column] for column in range(len(rows[0]))] for line in range(len(rows))]
    assert drawn == [list(row.values()) for row in rows]
    assert len(cells) == (len(rows) + 1) * len(rows[0])
