"""Attention maps of a run at given moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.view.panels import Sheet
from headwise.view.parts import map_row

if TYPE_CHECKING:
    import xarray as xr


def attention_sheet(runs: Sequence[xr.Dataset], *, at: Sequence[float] | None = None) -> Sheet:
    """All heads of the first seed's last block, at the snapshots nearest to `at`, or where the run stands out."""
    return Sheet((map_row(runs, at=at),))
