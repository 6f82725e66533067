"""Distances in function space, a panel per experiment; optionally attention maps of each below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headwise.core.predictors import predictors_of_kind
from headwise.view.panels import Panel, Sheet
from headwise.view.parts import distance_panel, map_row

if TYPE_CHECKING:
    import xarray as xr


def distances_sheet(groups: Mapping[str, Sequence[xr.Dataset]], *, maps: bool = False) -> Sheet:
    """KL from each predictor to the model: two panels a row, each with the seeds of one experiment."""
    panels = [distance_panel(runs, title=title) for title, runs in groups.items()]
    rows: list[tuple[Panel, ...]] = [tuple(panels[i : i + 2]) for i in range(0, len(panels), 2)]
    if maps:
        rows += [map_row(runs, name=f"{title}, {{}}") for title, runs in groups.items()]
    return Sheet(tuple(rows))


def exact_and_trained_sheet(
    exact: Sequence[xr.Dataset], trained: Sequence[xr.Dataset], *, last: Sequence[str] = ()
) -> Sheet:
    """Distances from the exact predictors left, from trained restricted contexts, and those in `last`, right."""
    contexts = [*predictors_of_kind(trained[0]["predictor"].values, "window"), *last]
    left = distance_panel(exact, title="KL from the exact predictors")
    return Sheet(((left, distance_panel(trained, contexts, title="KL from restricted contexts")),))
