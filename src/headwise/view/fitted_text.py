"""Titles and legends that are as wide as their panel: what is longer, such as several actions, goes over several lines.

Layouts are constrained by all that is drawn, so one long line would squeeze every panel until nothing is left of it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

LETTERS = 17
"""Letters to an inch, in the size of a legend."""

HANDLE = 8
"""Letters that the line beside a label and the space to the next column take."""

LARGER = 0.85
"""Letters of a title where a legend has one."""


def fitted_title(ax: Axes, title: str) -> str:
    """A title in lines that are no wider than its panel."""
    return _lines(title, int(LARGER * _room(ax)))


def fitted_columns(ax: Axes, handles: Sequence[Artist]) -> int:
    """Break labels that are wider than the panel, and say in how many columns, at most three, all of them fit."""
    room = _room(ax)
    for handle in handles:
        handle.set_label(_lines(str(handle.get_label()), room - HANDLE))
    widths = [max(map(_length, str(handle.get_label()).split("\n"))) + HANDLE for handle in handles]
    for columns in (3, 2) if len(handles) != 4 else (2,):
        if sum(max(part, default=0) for part in np.array_split(widths, columns)) <= room:
            return columns
    return 1


def _lines(text: str, room: int) -> str:
    return text if _length(text) <= room else textwrap.fill(text, room)


def _length(text: str) -> int:
    """Letters of a text; those of a formula are not counted, since it cannot be broken."""
    return 0 if "$" in text else len(text)


def _room(ax: Axes) -> int:
    """How many letters fit beside each other over the width of a panel."""
    figure, place = ax.get_figure(root=True), ax.get_subplotspec()
    assert figure is not None
    return int(LETTERS * figure.get_figwidth() / (1 if place is None else place.get_gridspec().ncols))
