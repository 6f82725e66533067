"""Axis labels in figures: those of the table of variables, and what a flow calls differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwise.core.trajectory import attribute
from headwise.core.variables import DIMENSIONS, VARIABLES

if TYPE_CHECKING:
    import xarray as xr


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
