"""Attention and values head by head: a column per group, heads matched across seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.view.panels import Sheet
from headwise.view.parts import head_panels

if TYPE_CHECKING:
    import xarray as xr


def heads_sheet(runs: Sequence[xr.Dataset]) -> Sheet:
    """Attention on every group above, value coefficients on every feature below, of the last block."""
    return Sheet(
        (
            head_panels(runs, "attention_by_group", title="group"),
            head_panels(runs, "value_coefficient", title="feature"),
        )
    )
