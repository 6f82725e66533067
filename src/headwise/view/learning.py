"""Panels of training runs and flows: losses, distances to predictors, attention and values of matched heads, maps.

Pure data functions on lists of trajectories, one per seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.predictors import predictor_label
from headwise.core.trajectory import attribute
from headwise.phases.roles import head_roles
from headwise.view.overview import moments
from headwise.view.panels import Curve, Map, Panel, band
from headwise.view.style import LINES, group_colour, head_colour

if TYPE_CHECKING:
    import xarray as xr

EXCESS = "#555555"
CYCLE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
"""Colours of runs that are compared with each other, in the order given."""


def _steps(runs: Sequence[xr.Dataset]) -> list[np.ndarray]:
    return [run["step"].values.astype(float) for run in runs]


def divergence_panel(
    runs: Sequence[xr.Dataset], names: Sequence[str], *, title: str, marks: Sequence[float] = ()
) -> Panel:
    """KL from each predictor to the model over training."""
    curves = tuple(
        band(
            predictor_label(name, "math"),
            _steps(runs),
            [run["kl"].sel(predictor=name).values for run in runs],
            colour=group_colour(index),
            style=LINES[index % len(LINES)],
            name=name,
        )
        for index, name in enumerate(names)
    )
    return Panel(title, "step", "KL (nats)", curves, (0, None), marks=tuple((m, "#888888", ":") for m in marks))


def loss_panel(runs: Sequence[xr.Dataset], *, title: str) -> Panel:
    """The loss on test sequences over training."""
    losses = [run["loss"].sel(split="test").values for run in runs]
    curve = band("test loss", _steps(runs), losses, colour=EXCESS)
    return Panel(title, "step", "loss (nats)", (curve,), (0, None))


def excess_panel(groups: Mapping[str, Sequence[xr.Dataset]], *, title: str) -> Panel:
    """Excess losses of several experiments over training."""
    curves = tuple(
        band(
            label,
            _steps(runs),
            [run["excess_loss"].values for run in runs],
            colour=CYCLE[index % len(CYCLE)],
            style=LINES[index % len(LINES)],
        )
        for index, (label, runs) in enumerate(groups.items())
    )
    return Panel(title, "step", "excess loss (nats)", curves, (0, None))


def matched_heads(runs: Sequence[xr.Dataset], variable: str) -> list[np.ndarray]:
    """A variable of the last block of each run, (step, head, group), heads in their roles: those of the page."""
    return [
        np.asarray(run[variable].isel(block=-1).transpose("step", "head", "group").values[:, roles[-1]])
        for run, roles in zip(runs, head_roles(runs), strict=True)
    ]


def head_panels(
    runs: Sequence[xr.Dataset],
    variable: str,
    *,
    title: str,
    ylabel: str,
    xlabel: str = "step",
    xscale: str = "linear",
) -> tuple[Panel, ...]:
    """One panel per group: every head's curve on it, heads matched across seeds by what they do."""
    matched = matched_heads(runs, variable)
    groups, heads = matched[0].shape[2], matched[0].shape[1]
    panels = []
    for group in range(groups):
        curves = tuple(
            band(
                f"head {head + 1}",
                _steps(runs),
                [values[:, head, group] for values in matched],
                colour=head_colour(head),
                style=LINES[head % len(LINES)],
            )
            for head in range(heads)
        )
        shown = ylabel if group == 0 else ""
        panels.append(Panel(f"{title} {group + 1}", xlabel, shown, curves, xscale=xscale, legend=group == groups // 2))
    return tuple(panels)


def map_row(runs: Sequence[xr.Dataset], *, count: int = 4, at: Sequence[float] | None = None) -> tuple[Map, ...]:
    """Attention of the first seed at a few moments: at given steps, or where the run stands out."""
    run, roles = runs[0], head_roles(runs)[0]
    steps = run["snapshot"].values
    chosen = moments(run, count) if at is None else [int(np.abs(steps - step).argmin()) for step in at]
    edges = tuple(max(group) for group in attribute(run, "groups") or [])
    return tuple(
        Map(
            f"step {steps[index]:g}",
            run["attention_map"].isel(snapshot=index, block=-1).values[roles[-1]],
            run["key"].values,
            run["query"].values,
            edges,
        )
        for index in chosen
    )


def best_loss_panel(sizes: Mapping[float, Sequence[xr.Dataset]], fresh: Sequence[xr.Dataset]) -> Panel:
    """Best excess loss against the number of training sequences, with the level of fresh data."""
    x = np.array(list(sizes))
    best = [np.array([float(np.nanmin(run["excess_loss"].values)) for run in runs]) for runs in sizes.values()]
    middle, low, high = (np.array([f(values) for values in best]) for f in (np.median, np.min, np.max))
    curves = [Curve("finite data", x, middle, low, high, colour=CYCLE[0], marker="o")]
    if fresh:
        level = float(np.median([np.nanmin(run["excess_loss"].values) for run in fresh]))
        curves.append(Curve("fresh data", x, np.full(len(x), level), colour=CYCLE[1], style="--"))
    return Panel("Best excess loss", "training sequences", "excess loss (nats)", tuple(curves), (0, None), xscale="log")
