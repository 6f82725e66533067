"""Axis labels in figures: those of the table of variables, and what a flow calls differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwise.core.predictors import predictor_label
from headwise.core.readable import on_one_line, readable
from headwise.core.trajectory import attribute
from headwise.core.variables import DIMENSIONS, VARIABLES

if TYPE_CHECKING:
    import xarray as xr

LONGEST = 60
"""Characters of a name from outside; a longer one would leave no room for the figure."""


def plain_label(name: object) -> str:
    r"""A name from outside as a label that is drawn letter by letter: nothing in it is mathematics or steers anything.

    >>> plain_label("cost $x_1$") == r"cost \$x_1\$"
    True
    """
    text = on_one_line(readable(str(name)))
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    # A legend leaves out labels that begin with an underscore.
    return shown.replace("$", r"\$").replace("_", " _", 1 if shown.startswith("_") else 0)


def predictor_curve_label(name: str) -> str:
    """What the curve of a predictor is called; a name that is not one of ours is drawn as it is."""
    label = predictor_label(name, "math")
    return plain_label(name) if label == name else label


def axis_label(name: str) -> str:
    """What an axis of this variable says."""
    return VARIABLES[name].axis_label


def curve_label(name: str) -> str:
    """What a curve of this variable is called beside others: without a unit, which the axis has."""
    return VARIABLES[name].axis_name


def dimension_label(name: str) -> str:
    """What an axis of this dimension says."""
    return DIMENSIONS[name].title


def time_label(trajectory: xr.Dataset) -> str:
    """What the axis of `step` says: a flow's `step` is its time."""
    return "time" if attribute(trajectory, "source") == "flow" else dimension_label("step")
