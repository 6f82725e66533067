"""Axis labels in figures: those of the table of variables, and what a flow calls differently."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwise.core.trajectory import attribute
from headwise.core.variables import DIMENSIONS, variable

if TYPE_CHECKING:
    import xarray as xr


def axis_label(name: str) -> str:
    """What an axis of this trajectory variable says."""
    return variable(name).axis_label


def time_label(trajectory: xr.Dataset) -> str:
    """What the axis of `step` says: a flow's `step` is its time."""
    return "time" if attribute(trajectory, "source") == "flow" else DIMENSIONS["step"].title
