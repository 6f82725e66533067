"""What a row of the table of variables can say: dimensions, words and units, what is gathered, how a page draws it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Gathered = Literal["curve", "final", "best"]
"""What `headwise collect` takes: every value in long form, the last value of a run, the lowest value of a run."""

PanelKind = Literal["grid", "doing", "example", "strips", "overlay", "singles", "lags", "pairs", "curves"]
"""Roles of all heads at one moment, and over training; the map of one sequence with its tokens; attention by lag over
training; maps of all heads on one; maps head by head; attention by lag at one moment; heads against heads; lines over
training. Any number of variables may be lines or heads against heads; the other kinds are made for attention and draw
one variable.
"""

PANEL_ORDER: tuple[PanelKind, ...] = (
    "grid",
    "doing",
    "example",
    "strips",
    "overlay",
    "singles",
    "lags",
    "pairs",
    "curves",
)
"""Panels of a page come in this order, those of one kind in the order of the table."""


@dataclass(frozen=True)
class PagePanel:
    """A panel of the report page; variables whose panels have the same title share one, and a menu offers `choice`.

    `about` is the sentence behind its question mark, the variable's own where it is empty. A variable that is drawn
    `of_each` entry of a dimension has a choice for every one.
    """

    kind: PanelKind
    title: str = ""
    choice: str = ""
    shown: Literal["if measured", "if it varies", "of watched models"] = "if measured"
    about: str = ""
    of_each: str = ""


CURVES = (PagePanel("curves"),)


@dataclass(frozen=True)
class Variable:
    """One variable: `about` says in a sentence what it is, `axis` is its name on an axis, `limits` is what an axis
    always holds. A variable from the detector is drawn like the others but never part of a trajectory.
    """

    name: str
    dimensions: tuple[str, ...]
    title: str
    about: str
    unit: str = ""
    axis: str = ""
    limits: tuple[float | None, float | None] = (None, None)
    gathered: tuple[Gathered, ...] = ("curve",)
    page: tuple[PagePanel, ...] = field(default=CURVES)
    source: Literal["trajectory", "detector"] = "trajectory"

    @property
    def axis_name(self) -> str:
        """The quantity in running text: `axis`, or the title in lower case."""
        return self.axis or self.title.lower()

    @property
    def axis_label(self) -> str:
        """What a figure writes beside an axis: the quantity and its unit."""
        return f"{self.axis_name} ({self.unit})" if self.unit else self.axis_name
