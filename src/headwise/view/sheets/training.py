"""One experiment over training: validation loss, distances to the predictors, attention at four moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.view.panels import Panel, Sheet
from headwise.view.parts import distance_panel, loss_panel, map_row

if TYPE_CHECKING:
    import xarray as xr


def training_sheet(runs: Sequence[xr.Dataset], *, loss: bool = True, maps: bool = True) -> Sheet:
    """Curves of all seeds above, maps of the first below; loss and maps can be left out."""
    curves = (loss_panel(runs, title="Validation loss"), distance_panel(runs)) if loss else (distance_panel(runs),)
    rows: tuple[tuple[Panel, ...], ...] = (curves, map_row(runs)) if maps else (curves,)
    return Sheet(rows)
