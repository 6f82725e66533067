"""Panels that several sheets use: losses, distances to predictors, attention and values by head, attention maps.

Pure data functions on trajectories, one per seed. Several seeds become one line, their median, and a band from the
lowest to the highest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.palette import group_colour, head_colour
from headwise.core.predictors import predictors_of_kind
from headwise.core.trajectory import attribute
from headwise.phases.roles import head_roles
from headwise.view.labels import axis_label, dimension_label, predictor_curve_label, time_label
from headwise.view.panels import AttentionMap, Curve, LegendEntry, LineStyle, Mark, Place, Plot
from headwise.view.style import LOSS, line_style, run_colour

if TYPE_CHECKING:
    import xarray as xr

KL_TITLE = "KL from each predictor to the model"


def require(trajectory: xr.Dataset, *names: str, figure: str) -> None:
    """Refuse a trajectory that lacks what a figure is made of, or that has not been measured yet."""
    for name in names:
        if name not in trajectory or not trajectory[name].size:
            raise ConfigError(f"there is nothing to draw: {figure} needs {name}, which this trajectory does not have")


def band(
    label: str,
    runs: Sequence[xr.Dataset],
    read: Callable[[xr.Dataset], np.ndarray],
    *,
    colour: str,
    style: LineStyle = "-",
    width: float = 1.6,
    name: str = "",
) -> Curve:
    """Median and range of one curve over seeds; seeds that end early are read on the steps that all share."""
    steps = [run["step"].values.astype(float) for run in runs]
    shared = steps[0]
    for other in steps[1:]:
        shared = np.intersect1d(shared, other)
    rows = np.stack([np.asarray(read(run))[np.isin(own, shared)] for own, run in zip(steps, runs, strict=True)])
    low, high = (None, None) if len(rows) == 1 else (rows.min(0), rows.max(0))
    return Curve(label, shared, np.median(rows, 0), low, high, colour, style, width=width, name=name)


def prefixes(run: xr.Dataset) -> list[str]:
    """The recorded predictors that see the first i groups."""
    return predictors_of_kind(run["predictor"].values, "prefix")


def distance_curves(runs: Sequence[xr.Dataset], names: Sequence[str]) -> tuple[Curve, ...]:
    """KL from each of these predictors to the model."""
    return tuple(
        band(
            predictor_curve_label(name),
            runs,
            lambda run, name=name: run["kl"].sel(predictor=name).values,  # type: ignore[misc]
            colour=group_colour(index),
            style=line_style(index),
            name=name,
        )
        for index, name in enumerate(names)
    )


def distance_panel(
    runs: Sequence[xr.Dataset],
    names: Sequence[str] | None = None,
    *,
    title: str = KL_TITLE,
    marks: tuple[Mark, ...] = (),
) -> Plot:
    """KL from each predictor to the model over training; without names, from those that see the first i groups."""
    require(runs[0], "kl", figure="a figure of distances")
    curves = distance_curves(runs, prefixes(runs[0]) if names is None else names)
    return Plot(title, time_label(runs[0]), axis_label("kl"), curves, (0, None), marks=marks)


def loss_panel(runs: Sequence[xr.Dataset], *, title: str) -> Plot:
    """The loss on test sequences over training."""
    require(runs[0], "loss", figure="a figure of the loss")
    curve = band("test loss", runs, lambda run: run["loss"].sel(split="test").values, colour=LOSS)
    return Plot(title, time_label(runs[0]), axis_label("loss"), (curve,), (0, None))


def excess_panel(groups: Mapping[str, Sequence[xr.Dataset]], *, title: str) -> Plot:
    """Excess losses of several experiments over training."""
    for runs in groups.values():
        require(runs[0], "excess_loss", figure="a figure of the excess loss")
    curves = tuple(
        band(label, runs, lambda run: run["excess_loss"].values, colour=run_colour(index), style=line_style(index))
        for index, (label, runs) in enumerate(groups.items())
    )
    return Plot(title, "step", axis_label("excess_loss"), curves, (0, None))


def head_panels(runs: Sequence[xr.Dataset], variable: str, *, title: str) -> tuple[Plot, ...]:
    """One panel per group: every head's curve on it in the last block, heads matched across seeds by what they do."""
    require(runs[0], variable, figure="a figure of the heads")
    roles = {id(run): found[-1] for run, found in zip(runs, head_roles(runs), strict=True)}

    def read(run: xr.Dataset, head: int, group: int) -> np.ndarray:
        values = run[variable].isel(block=-1).transpose("step", "head", "group").values
        return np.asarray(values[:, roles[id(run)][head], group])

    heads, groups = runs[0].sizes["head"], runs[0].sizes["group"]
    panels = []
    for group in range(groups):
        curves = tuple(
            band(
                f"head {head + 1}",
                runs,
                lambda run, head=head, group=group: read(run, head, group),  # type: ignore[misc]
                colour=head_colour(head),
                style=line_style(head),
            )
            for head in range(heads)
        )
        legend: Place = "below" if group == groups // 2 else "none"
        shown = axis_label(variable) if group == 0 else ""
        name = f"{axis_label(variable)}, {title} {group + 1}"
        panels.append(Plot(f"{title} {group + 1}", time_label(runs[0]), shown, curves, legend=legend, name=name))
    return tuple(panels)


def by_head_and_group(
    times: np.ndarray,
    values: np.ndarray,
    *,
    group: str = "I({})",
    name: str = "{}",
    width: float = 1.6,
    alpha: float = 1.0,
) -> tuple[Curve, ...]:
    """Curves of values (times, heads, groups): colour says which head, line style which group.

    `group` is the name of a group around its number, `name` that of a curve around head and group.
    """
    return tuple(
        Curve(
            "",
            times,
            values[:, head, index],
            colour=head_colour(head),
            style=line_style(index),
            width=width,
            alpha=alpha,
            name=name.format(f"head {head + 1} on {group.format(index + 1)}"),
        )
        for head in range(values.shape[1])
        for index in range(values.shape[2])
    )


def head_and_group_entries(heads: int, groups: int, *, group: str = "on I({})") -> tuple[LegendEntry, ...]:
    """Colours name heads, line styles groups."""
    return (
        *(LegendEntry(f"head {head + 1}", head_colour(head)) for head in range(heads)),
        *(LegendEntry(group.format(index + 1), style=line_style(index)) for index in range(groups)),
    )


def first_roles(runs: Sequence[xr.Dataset]) -> list[int]:
    """The heads of the first seed's last block, counted from 0, in the order in which figures and pages colour them."""
    return head_roles(runs)[0][-1]


def moments(trajectory: xr.Dataset, count: int = 4) -> list[int]:
    """Indices of the snapshots to show: the first, the last, and those nearest to where each KL curve is lowest.

    Without KL curves, or where they leave too few, the rest is spread evenly.
    """
    steps = trajectory["snapshot"].values
    chosen = {0, len(steps) - 1}
    if "kl" in trajectory:
        for name in prefixes(trajectory)[:-1]:
            curve = trajectory["kl"].sel(predictor=name)
            if np.isfinite(curve.values).any():
                lowest = float(curve["step"].values[int(np.nanargmin(curve.values))])
                chosen.add(int(np.abs(steps - lowest).argmin()))
    for index in np.linspace(0, len(steps) - 1, 2 * count).round().astype(int):
        if len(chosen) >= min(count, len(steps)):
            break
        chosen.add(int(index))
    return sorted(chosen)[:count] if len(chosen) <= count else [*sorted(chosen)[: count - 1], max(chosen)]


def map_row(
    runs: Sequence[xr.Dataset],
    *,
    at: Sequence[float] | None = None,
    heads: Sequence[int] | None = None,
    legend: Place = "below",
    name: str = "{}",
) -> tuple[AttentionMap, ...]:
    """Attention of the first seed's last block at a few moments: at given steps, or where the run stands out.

    `heads` are its heads in their roles, where they are known already; `name` is what the table calls a map around its
    title.
    """
    run = runs[0]
    require(run, "attention_map", figure="a figure of attention maps")
    steps = run["snapshot"].values
    near = moments(run) if at is None else [int(np.abs(steps - step).argmin()) for step in at]
    edges = {f"I({k})": max(group) for k, group in enumerate(attribute(run, "groups") or [], start=1)}
    roles = list(heads) if heads is not None else first_roles(runs)
    return tuple(
        AttentionMap(
            title := f"{time_label(run)} {steps[index]:.10g}",
            dimension_label("key"),
            dimension_label("query"),
            run["attention_map"].isel(snapshot=index, block=-1).values[roles],
            run["key"].values,
            run["query"].values,
            edges,
            legend=legend,
            name=name.format(title),
        )
        for index in dict.fromkeys(near)
    )
