"""Excess losses of experiments that are compared with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headwise.view.panels import Sheet
from headwise.view.parts import excess_panel

if TYPE_CHECKING:
    import xarray as xr


def losses_sheet(panels: Mapping[str, Mapping[str, Sequence[xr.Dataset]]]) -> Sheet:
    """A panel per title, with a curve per label over the seeds of an experiment."""
    return Sheet((tuple(excess_panel(groups, title=title) for title, groups in panels.items()),))
