"""The one module that draws: sheets and panels become matplotlib figures.

Figures are made without pyplot: they need no screen, leave no state behind and are shown by a notebook as they are.
Nothing here computes what is drawn: every number comes from the sheet, whose table is written beside the figure.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib import colormaps
from matplotlib.artist import Artist
from matplotlib.colors import BoundaryNorm, ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from headwise.core.palette import head_colour
from headwise.view.fitted_text import fitted_columns, fitted_title
from headwise.view.labels import plain_label
from headwise.view.notebook_figure import NotebookFigure
from headwise.view.panels import (
    AttentionMap,
    CellMap,
    HeatMap,
    LegendEntry,
    Mark,
    Panel,
    Place,
    Plot,
    Sheet,
    Table,
    Timeline,
)
from headwise.view.stripes import striped
from headwise.view.table import edge_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

WIDTH = 7.0
"""Inches of a full-width figure in print."""

ALONE = 4.0
"""Inches of a single panel."""

MAP = 1.75
"""Least width of an attention map."""

BELOW = 0.36
"""Inches from a panel to the legend below it: room for ticks and the name of the axis."""

ABSENT = "#E9E9E9"
"""Colour of a cell without a number."""


@contextmanager
def headwise_style() -> Iterator[None]:
    """headwise's style sheet, without touching the caller's settings."""
    with mpl.rc_context(fname=str(Path(__file__).with_name("headwise.mplstyle"))), warnings.catch_warnings():
        # A name from outside may be in a script that the font lacks; it is drawn as boxes, and the CSV has it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def draw_sheet(sheet: Sheet) -> Figure:
    """A figure of all panels of a sheet.

    >>> from headwise.view.panels import Curve, Plot
    >>> panel = Plot("Loss", "step", "nats", (Curve("test", np.arange(3), np.array([3.0, 2.0, 1.0])),))
    >>> draw_sheet(Sheet(((panel,),))).axes[0].get_title()
    'Loss'
    """
    with headwise_style():
        heights = [max(panel.height for panel in row) for row in sheet.rows]
        width = sheet.width or max(_row_width(row) for row in sheet.rows)
        figure = NotebookFigure(figsize=(width, sum(heights) + 0.25 * bool(sheet.notes)), layout="constrained")
        if sheet.layout == "grid":
            _draw_grid(figure, sheet, heights)
        else:
            parts = figure.subfigures(len(sheet.rows), 1, height_ratios=heights, squeeze=False)
            for part, row in zip(parts[:, 0], sheet.rows, strict=True):
                _draw_row(part, row)
        if sheet.entries:
            figure.legend(handles=[_handle(entry) for entry in sheet.entries], loc="outside right upper")
        if sheet.notes:
            figure.supxlabel(" ".join(sheet.notes), fontsize=6.5, color="#444444", x=0.01, ha="left")
        # Ticks are made and spaced when first drawn, in the style of that moment, which must be this one.
        for ax in figure.axes:
            ax.tick_params(axis="x", labelsize=mpl.rcParams["xtick.labelsize"])
            ax.tick_params(axis="y", labelsize=mpl.rcParams["ytick.labelsize"])
        figure.draw_without_rendering()
    return figure


def draw_panel(panel: Panel, *, ax: Axes | None = None) -> Figure:
    """A figure of one panel; with `ax` the panel is drawn there, and the figure is that of `ax`."""
    if ax is None:
        return draw_sheet(Sheet(((panel,),)))
    with headwise_style():
        _draw(panel, ax)
        if isinstance(panel, HeatMap):
            _colour_bar(panel, [ax])
        if isinstance(panel, AttentionMap) and panel.legend != "none":
            _legend(ax, panel.legend, _head_patches(panel))
    figure = ax.get_figure(root=True)
    assert figure is not None
    return figure


def _row_width(row: Sequence[Panel]) -> float:
    if isinstance(row[0], AttentionMap):
        return max(WIDTH, MAP * len(row))
    return ALONE if len(row) == 1 and isinstance(row[0], Plot) else WIDTH


def _draw_row(part: FigureBase, row: Sequence[Panel]) -> None:
    """Panels side by side with axes of their own."""
    places = part.subplots(1, len(row), squeeze=False)[0]
    for index, (ax, panel) in enumerate(zip(places, row, strict=True)):
        _draw(panel, ax)
        if isinstance(panel, AttentionMap) and index > 0 and isinstance(row[0], AttentionMap):
            ax.set_ylabel("")
        if isinstance(panel, HeatMap):
            _colour_bar(panel, [ax])
    first = row[0]
    if isinstance(first, AttentionMap) and first.legend != "none":
        heads = _head_patches(first)
        part.legend(handles=heads, loc="outside lower center", ncols=len(heads), handlelength=1.0)


def _draw_grid(figure: Figure, sheet: Sheet, heights: Sequence[float]) -> None:
    """Panels whose axes are shared along rows and columns: only the outer ones are labelled. Rows may be shorter."""
    columns = max(len(row) for row in sheet.rows)
    places = figure.subplots(len(sheet.rows), columns, squeeze=False, sharex="col", sharey="row", height_ratios=heights)
    for line, row in enumerate(sheet.rows):
        for column, panel in enumerate(row):
            ax = places[line, column]
            _draw(panel, ax)
            if any(len(below) > column for below in sheet.rows[line + 1 :]):
                ax.set_xlabel("")
            else:
                ax.tick_params(labelbottom=True)
            if column > 0:
                ax.set_ylabel("")
        for ax in places[line, len(row) :]:
            ax.remove()
    heat = [panel for panel in sheet.panels if isinstance(panel, HeatMap)]
    if heat:
        _colour_bar(heat[0], figure.axes)


def _draw(panel: Panel, ax: Axes) -> None:
    match panel:
        case Plot():
            _draw_plot(panel, ax)
        case AttentionMap():
            _draw_attention(panel, ax)
        case HeatMap():
            _draw_heat(panel, ax)
        case CellMap():
            _draw_cells(panel, ax)
        case Timeline():
            _draw_timeline(panel, ax)
        case Table():
            _draw_table(panel, ax)


def _draw_plot(panel: Plot, ax: Axes) -> None:
    """Curves with their bands; a curve with a single finite number is a point, because a line would not be seen."""
    for curve in panel.curves:
        if curve.low is not None and curve.high is not None:
            ax.fill_between(curve.x, curve.low, curve.high, color=curve.colour, alpha=0.2, lw=0)
        single = np.isfinite(np.asarray(curve.y, dtype=float)).sum() == 1
        ax.plot(
            curve.x,
            curve.y,
            color=curve.colour,
            ls=curve.style,
            lw=curve.width,
            alpha=curve.alpha,
            marker=curve.marker or ("o" if single else None),
            ms=4,
            label=curve.label or None,
        )
    _draw_marks(panel.marks, ax)
    ax.set(title=fitted_title(ax, panel.title), xlabel=panel.xlabel, ylabel=panel.ylabel, xscale=panel.xscale)
    if panel.ylim != (None, None):
        ax.set_ylim(*panel.ylim)  # without limits this would keep those of the first panel of a shared axis
    if panel.x_ticks:
        ax.set_xticks(panel.x_ticks, [f"{place:g}" for place in panel.x_ticks])
        ax.set_xticks([], minor=True)
    if panel.x_direction == "falling":
        ax.invert_xaxis()
    if not panel.grid:
        ax.grid(visible=False)
    if panel.entries:
        _legend(ax, panel.legend, [_handle(entry) for entry in panel.entries])
    elif any(curve.label for curve in panel.curves):
        _legend(ax, panel.legend, ax.get_legend_handles_labels()[0])


def _draw_marks(marks: Sequence[Mark], ax: Axes) -> None:
    for mark in marks:
        line = ax.axvline if mark.axis == "x" else ax.axhline
        line(mark.at, color=mark.colour, ls=mark.style, lw=mark.width)


def _handle(entry: LegendEntry) -> Line2D:
    return Line2D([], [], color=entry.colour, ls=entry.style, lw=entry.width, alpha=entry.alpha, label=entry.label)


def _head_patches(panel: AttentionMap) -> list[Patch]:
    return [Patch(color=head_colour(head), label=f"head {head + 1}") for head in range(len(panel.attention))]


def _legend(ax: Axes, place: Place, handles: Sequence[Artist]) -> None:
    """Below or beside the panel, where it hides nothing, or inside where the panel has room."""
    match place:
        case "below":
            # In inches and not in heights of the panel: a long legend makes the panel lower.
            figure = ax.get_figure(root=True)
            assert figure is not None
            below = ScaledTranslation(0, -BELOW, figure.dpi_scale_trans)
            ax.legend(
                handles=handles,
                loc="upper center",
                bbox_to_anchor=(0.5, 0.0),
                bbox_transform=ax.transAxes + below,
                ncols=fitted_columns(ax, handles),
                handlelength=2.2,
                columnspacing=1.2,
            )
        case "right":
            ax.legend(handles=handles, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handlelength=1.9)
        case "inside":
            ax.legend(handles=handles, loc="best")
        case "none":
            pass


def _draw_attention(panel: AttentionMap, ax: Axes) -> None:
    """All heads in their colours, with the far edge of each group as a thin diagonal."""
    keys, queries = panel.keys, panel.queries
    edges = (keys[0] - 0.5, keys[-1] + 0.5, queries[-1] + 0.5, queries[0] - 0.5)
    ax.imshow(striped(panel.attention), extent=edges, aspect="auto", interpolation="nearest")
    ax.grid(visible=False)
    for x, y in edge_lines(panel).values():
        ax.plot(x, y, color="#999999", lw=0.5)
    ax.set(title=panel.title, xlabel=panel.xlabel, ylabel=panel.ylabel, xlim=edges[:2], ylim=edges[2:])


def _draw_heat(panel: HeatMap, ax: Axes) -> None:
    ax.pcolormesh(
        _cell_edges(panel.x),
        _cell_edges(panel.y),
        panel.values,
        vmin=panel.limits[0],
        vmax=panel.limits[1],
        cmap="Blues",
        rasterized=True,
    )
    ax.grid(visible=False)
    ax.set_title(panel.title, fontsize="small")
    ax.set(xlabel=panel.xlabel, ylabel=panel.ylabel)
    if panel.y_direction == "falling" and not ax.yaxis_inverted():
        ax.invert_yaxis()


def _cell_edges(places: np.ndarray) -> np.ndarray:
    """Edges half way between neighbours; a single place gets a cell of width one."""
    places = np.asarray(places, dtype=float)
    if len(places) == 1:
        return np.array([places[0] - 0.5, places[0] + 0.5])
    between = (places[1:] + places[:-1]) / 2
    first, last = 2 * places[0] - between[0], 2 * places[-1] - between[-1]
    return np.array([first, *between, last])


def _colour_bar(panel: HeatMap, places: list[Axes]) -> None:
    """What the colours mean; all places have the same scale."""
    places[0].figure.colorbar(places[0].collections[0], ax=places, label=panel.scale, shrink=0.8)


def _draw_cells(panel: CellMap, ax: Axes) -> None:
    """Colour and large number say the same, so that neither is needed alone."""
    values = np.ma.masked_invalid(panel.values)
    marks: list[float] | None = None
    if panel.levels:
        first, last, count = panel.levels[0], panel.levels[-1], len(panel.levels)
        shades = colormaps["cividis"](np.linspace(0.2, 0.9, max(count, 2))[-count:])
        colours, marks = ListedColormap(shades), [float(level) for level in panel.levels]
        norm: Normalize = BoundaryNorm(np.arange(first, last + 2) - 0.5, count)
    else:
        colours = ListedColormap(colormaps["cividis"](np.linspace(0.0, 1.0, 256)))
        norm = Normalize(*((values.min(), values.max()) if values.count() else (0.0, 1.0)))
    picture = ax.pcolormesh(
        np.arange(len(panel.x) + 1) - 0.5,
        np.arange(len(panel.y) + 1) - 0.5,
        values,
        cmap=colours.with_extremes(bad=ABSENT),
        norm=norm,
        edgecolors="white",
        linewidth=0.8,
    )
    for j, i in np.ndindex(panel.values.shape):
        red, green, blue, _ = colours(norm(panel.values[j, i])) if np.isfinite(panel.values[j, i]) else (1, 1, 1, 1)
        ink = "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
        large, small = str(panel.large[j, i]), str(panel.small[j, i])
        centred: dict[str, Any] = {"ha": "center", "va": "center", "color": ink}
        ax.text(i, j + (0.13 if small else 0.0), large, fontsize=8, **centred)
        ax.text(i, j - 0.25, small, fontsize=5.5, **centred)
    ax.set_xticks(range(len(panel.x)), panel.x_ticks)
    ax.set_yticks(range(len(panel.y)), panel.y_ticks)
    ax.set(xlabel=panel.xlabel, ylabel=panel.ylabel, title=panel.title)
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    bar = ax.figure.colorbar(picture, ax=ax, shrink=0.9, aspect=25, ticks=marks)
    bar.outline.set_visible(False)
    bar.ax.tick_params(which="minor", length=0)


def _draw_timeline(panel: Timeline, ax: Axes) -> None:
    """A row of bars for each name; a bar that is too short for its text goes without."""
    length = max((bar.end for bar in panel.bars), default=1.0) - min((bar.start for bar in panel.bars), default=0.0)
    for bar in panel.bars:
        y = panel.rows.index(bar.row)
        ax.barh(
            y,
            bar.end - bar.start,
            left=bar.start,
            height=0.7,
            color=bar.colour,
            alpha=bar.alpha,
        )
        if bar.end - bar.start > 0.0095 * len(bar.text) * length:
            middle = (bar.start + bar.end) / 2
            ax.text(
                middle, y, plain_label(bar.text), ha="center", va="center", color=bar.ink, fontsize=6.5, clip_on=True
            )
    for span in panel.spans:
        ax.axvspan(span.start, span.end, color=span.colour, alpha=0.5, lw=0, zorder=0)
    _draw_marks(panel.marks, ax)
    ax.set_yticks(range(len(panel.rows)), [plain_label(row) for row in panel.rows])
    ax.invert_yaxis()
    ax.grid(visible=False)
    ax.set_title(panel.title, loc="left")
    ax.set_xlabel(panel.xlabel)


def _draw_table(panel: Table, ax: Axes) -> None:
    ax.set_axis_off()
    drawn = ax.table(cellText=[list(row) for row in panel.rows], colLabels=list(panel.columns), loc="center")
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(7)
    drawn.auto_set_column_width(list(range(len(panel.columns))))
    for (line, _), cell in drawn.get_celld().items():
        cell.set_linewidth(0.4)
        cell.set_edgecolor("#BBBBBB")
        cell.set_text_props(ha="left", weight="bold" if line == 0 else "normal")
