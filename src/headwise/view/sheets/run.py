"""The figure of any run, whatever made it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headwise.view.panels import Sheet
from headwise.view.sheets.flow import flow_sheet
from headwise.view.sheets.heads_by_lag import heads_by_lag
from headwise.view.sheets.overview import overview

if TYPE_CHECKING:
    import xarray as xr


def run_sheet(trajectory: xr.Dataset) -> Sheet:
    """A flow's attention, values and loss; heads by lag where nothing else is known; else a training run's overview."""
    if "loss_part" in trajectory:
        return flow_sheet(trajectory)
    if "attention_by_lag" in trajectory and "attention_by_group" not in trajectory:
        return heads_by_lag(trajectory)
    return overview([trajectory])
