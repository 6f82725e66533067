"""Figures as data: a sheet of panels. `view.draw` draws it and `view.table` writes the same numbers as a table.

Nothing here draws. Titles and axis labels may hold matplotlib's mathematics ($...$).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from headwise.core.errors import ConfigError
from headwise.view.style import LineStyle

Place = Literal["below", "right", "inside", "none"]
"""Where a legend stands."""


@dataclass(frozen=True, eq=False)
class Curve:
    """A line, with a band from `low` to `high` where there are several seeds.

    `label` is its text in the legend, empty for a curve without one; `name` is what the table calls it, the label if
    empty.
    """

    label: str
    x: np.ndarray
    y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    colour: str = "#000000"
    style: LineStyle = "-"
    marker: str = ""
    width: float = 1.6
    alpha: float = 1.0
    name: str = ""

    @property
    def series(self) -> str:
        """What the table calls this curve."""
        return self.name or self.label


@dataclass(frozen=True)
class Mark:
    """A line right across a panel, at one place of its x or y axis."""

    name: str
    at: float
    axis: Literal["x", "y"] = "x"
    colour: str = "#888888"
    style: LineStyle = ":"
    width: float = 0.9


@dataclass(frozen=True)
class Span:
    """A stretch of the x axis, shaded over the whole height of a panel."""

    name: str
    start: float
    end: float
    colour: str = "#DDDDDD"


@dataclass(frozen=True)
class LegendEntry:
    """A legend entry that stands for several curves: a colour for a head, a line style for a group."""

    label: str
    colour: str = "#555555"
    style: LineStyle = "-"
    width: float = 1.6
    alpha: float = 1.0


@dataclass(frozen=True, eq=False)
class Plot:
    """Curves on common axes. `entries` replace the labels of the curves in the legend."""

    title: str
    xlabel: str
    ylabel: str
    curves: tuple[Curve, ...]
    ylim: tuple[float | None, float | None] = (None, None)
    xscale: Literal["linear", "log"] = "linear"
    x_ticks: tuple[float, ...] = ()
    """Places that are labelled, where they are not to be chosen by the scale."""
    x_direction: Literal["rising", "falling"] = "rising"
    marks: tuple[Mark, ...] = ()
    legend: Place = "below"
    entries: tuple[LegendEntry, ...] = ()
    grid: bool = True
    height: float = 2.3
    name: str = ""


@dataclass(frozen=True, eq=False)
class AttentionMap:
    """Attention of all heads at one moment, (heads, queries, keys), each head in its colour; `edges` are the furthest
    lags of the groups by name, drawn as thin diagonals.
    """

    title: str
    xlabel: str
    ylabel: str
    attention: np.ndarray
    keys: np.ndarray
    queries: np.ndarray
    edges: Mapping[str, int] = field(default_factory=dict)
    legend: Place = "below"
    height: float = 2.1
    name: str = ""


@dataclass(frozen=True, eq=False)
class HeatMap:
    """Numbers over two number axes, `values` (y, x), light to dark from `limits[0]` to `limits[1]`."""

    title: str
    xlabel: str
    ylabel: str
    x: np.ndarray
    y: np.ndarray
    values: np.ndarray
    limits: tuple[float, float]
    scale: str
    """What the colours mean, beside the colour bar."""
    y_direction: Literal["rising", "falling"] = "rising"
    height: float = 1.45
    name: str = ""


@dataclass(frozen=True, eq=False)
class CellMap:
    """A table of coloured cells over two lists of values: a number in each cell, large, and a small text below it.

    `values` (y, x) choose the colours, NaN for none; `levels` are the whole numbers that occur, empty for a continuous
    scale. `columns` are all numbers of a cell by name, each (y, x); `x_name` and `y_name` are what the table calls the
    axes.
    """

    title: str
    xlabel: str
    ylabel: str
    x: Sequence[Any]
    y: Sequence[Any]
    x_ticks: tuple[str, ...]
    y_ticks: tuple[str, ...]
    values: np.ndarray
    large: np.ndarray
    small: np.ndarray
    columns: Mapping[str, np.ndarray]
    x_name: str
    y_name: str
    levels: tuple[int, ...] = ()
    name: str = ""

    @property
    def height(self) -> float:
        return 0.9 + 0.42 * len(self.y)


@dataclass(frozen=True)
class Bar:
    """A stretch of one row of a timeline."""

    row: str
    start: float
    end: float
    text: str
    colour: str
    ink: str = "black"
    alpha: float = 1.0


@dataclass(frozen=True)
class Timeline:
    """Rows of bars over time, the first row on top."""

    title: str
    xlabel: str
    rows: tuple[str, ...]
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...] = ()
    spans: tuple[Span, ...] = ()
    name: str = ""

    @property
    def height(self) -> float:
        return 0.35 + 0.3 * max(len(self.rows), 1)


@dataclass(frozen=True)
class Table:
    """A table of text."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    name: str = "table"

    @property
    def height(self) -> float:
        return 0.45 + 0.24 * (len(self.rows) + 1)


Panel = Plot | AttentionMap | HeatMap | CellMap | Timeline | Table


def panel_name(panel: Panel) -> str:
    """What the table calls a panel."""
    return panel.name or panel.title


def has_numbers(panel: Panel) -> bool:
    """Whether a panel would show anything. Cells say themselves where nothing was found."""
    match panel:
        case Plot():
            return any(np.isfinite(np.asarray(curve.y, dtype=float)).any() for curve in panel.curves)
        case AttentionMap():
            return bool(np.isfinite(panel.attention).any())
        case HeatMap():
            return bool(np.isfinite(panel.values).any())
        case CellMap():
            return bool(panel.values.size)
        case Timeline():
            return bool(panel.bars)
        case Table():
            return bool(panel.rows)


@dataclass(frozen=True, eq=False)
class Sheet:
    """Rows of panels, none of them empty.

    In a `grid` the panels of a column share their x axis and those of a row their y axis; `free` rows have axes and
    widths of their own. `entries` make a legend for the whole sheet, `notes` a line of text below.
    """

    rows: tuple[tuple[Panel, ...], ...]
    layout: Literal["free", "grid"] = "free"
    width: float | None = None
    entries: tuple[LegendEntry, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.panels:
            raise ConfigError("there is nothing to draw: the figure has no panel")
        names = [panel_name(panel) for panel in self.panels]
        if len(set(names)) < len(names):
            raise ValueError(f"every panel of a sheet needs a name of its own, got {names}")
        for panel in self.panels:
            if not has_numbers(panel):
                raise ConfigError(f"there is nothing to draw: {panel_name(panel)} has no finite number")

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All panels, row by row."""
        return tuple(panel for row in self.rows for panel in row)
