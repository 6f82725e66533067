"""Finite data: the best excess loss by number of training sequences, and distances to restricted contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.predictors import predictors_of_kind
from headwise.view.labels import axis_label
from headwise.view.panels import Curve, Mark, Panel, Plot, Sheet
from headwise.view.parts import distance_panel, require
from headwise.view.style import run_colour

if TYPE_CHECKING:
    import xarray as xr


def data_size_sheet(sizes: Mapping[int, Sequence[xr.Dataset]], fresh: Sequence[xr.Dataset]) -> Sheet:
    """`sizes` are the seeds by number of training sequences, `fresh` those with new sequences at every step."""
    panels: list[Panel] = [best_loss_panel(sizes, fresh), *(_distances(size, runs) for size, runs in sizes.items())]
    seeds = max(len(runs) for runs in sizes.values())
    notes = ("Distances: the first seed; thin lines: the others. The restricted models are trained in every seed.",)
    return Sheet(tuple(tuple(panels[i : i + 2]) for i in range(0, len(panels), 2)), notes=notes if seeds > 1 else ())


def best_loss_panel(sizes: Mapping[int, Sequence[xr.Dataset]], fresh: Sequence[xr.Dataset]) -> Plot:
    """Best excess loss against the number of training sequences, with the level of fresh data."""
    for runs in (*sizes.values(), fresh):
        if runs:
            require(runs[0], "excess_loss", figure="a figure of the best excess loss")
    x = np.array(list(sizes), dtype=float)
    best = [np.array([float(np.nanmin(run["excess_loss"].values)) for run in runs]) for runs in sizes.values()]
    middle, low, high = (np.array([f(values) for values in best]) for f in (np.median, np.min, np.max))
    curves = [Curve("finite data", x, middle, low, high, colour=run_colour(0), marker="o")]
    if fresh:
        level = float(np.median([np.nanmin(run["excess_loss"].values) for run in fresh]))
        curves.append(Curve("fresh data", x, np.full(len(x), level), colour=run_colour(1), style="--"))
    return Plot(
        "Best excess loss",
        "training sequences",
        axis_label("excess_loss"),
        tuple(curves),
        (0, None),
        xscale="log",
        x_ticks=tuple(x),
    )


def _distances(size: int, runs: Sequence[xr.Dataset]) -> Plot:
    """Distances to restricted contexts seed by seed; dashed, the first seed's first step that obtains its best loss."""
    contexts = predictors_of_kind(runs[0]["predictor"].values, "window")
    best = runs[0]["step"].values[int(np.nanargmin(runs[0]["excess_loss"].values))]
    mark = Mark("best step", float(best), style="--")
    return distance_panel(runs, contexts, title=f"{size} sequences", marks=(mark,), seeds="lines")
