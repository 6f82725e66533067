"""The paper's first figure: the task, its solution by one head per group, and how a model gets there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.palette import group_colour
from headwise.core.trajectory import attribute
from headwise.view.labels import dimension_label
from headwise.view.panels import AttentionMap, Bar, Panel, Sheet, Timeline
from headwise.view.parts import prefixes
from headwise.view.sheets.overview import overview

if TYPE_CHECKING:
    import xarray as xr


def main_sheet(runs: Sequence[xr.Dataset], *, importance: Sequence[float]) -> Sheet:
    """Above, the task and the ideal attention of its solution; below, the overview of the runs.

    `importance` is the norm of each group's feature matrix, which a trajectory does not keep.
    """
    below = overview(runs, predictors=prefixes(runs[0]) if "kl" in runs[0] else ())
    above: tuple[Panel, ...] = (task_panel(runs[0], importance), ideal_map(runs[0]))
    return Sheet((above, *below.rows), notes=below.notes)


def task_panel(run: xr.Dataset, importance: Sequence[float]) -> Timeline:
    """A row per group: the past tokens that it sees, each with its weight, and how much the group matters."""
    groups, weights = _task(run)
    rows = tuple(f"I({k}), norm {norm:.3g}" for k, norm in enumerate(importance, start=1))
    largest = max(importance)
    bars = tuple(
        Bar(
            row,
            -lag - 0.46,
            -lag + 0.46,
            f"{weight:.2g}",
            group_colour(k),
            ink="white" if norm / largest > 0.5 else "black",
            alpha=0.35 + 0.6 * norm / largest,
        )
        for k, (row, lags, alphas, norm) in enumerate(zip(rows, groups, weights, importance, strict=True))
        for lag, weight in zip(lags, alphas, strict=True)
    )
    return Timeline("The task: groups and their weights", "position from the predicted token", rows, bars, name="task")


def ideal_map(run: xr.Dataset) -> AttentionMap:
    """Attention of the solution with one head per group (§2.2): each head on its group's lags, in their weights."""
    groups, weights = _task(run)
    if "attention_map" not in run:
        raise ConfigError("there is nothing to draw: the ideal attention needs the positions of an attention_map")
    keys, queries = run["key"].values, run["query"].values
    lag_of = queries[:, None] + 1 - keys[None, :]
    ideal = np.zeros((len(groups), len(queries), len(keys)))
    for head, (lags, alphas) in enumerate(zip(groups, weights, strict=True)):
        for lag, weight in zip(lags, alphas, strict=True):
            ideal[head][lag_of == lag] = weight / sum(alphas)
    return AttentionMap(
        "Its solution: one head per group",
        dimension_label("key"),
        dimension_label("query"),
        ideal,
        keys,
        queries,
        legend="none",
        name="ideal attention",
    )


def _task(run: xr.Dataset) -> tuple[list[list[int]], list[list[float]]]:
    """Lags of every group and their weights; equal ones where a trajectory does not say."""
    groups: list[list[int]] = attribute(run, "groups")
    if not groups:
        raise ConfigError("there is nothing to draw: a figure of the task needs the groups of its lags")
    weights: list[list[float]] = attribute(run, "alpha") or [[1.0] * len(lags) for lags in groups]
    return groups, weights
