"""Panels that several sheets use: losses, distances to predictors, attention and values by head, attention maps.

Pure data functions on trajectories, one per seed. Several seeds become one line, their median, and a band from the
lowest to the highest; heads, which may take other parts in other seeds, are drawn seed by seed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.palette import group_colour, head_colour
from headwise.core.predictors import predictors_of_kind
from headwise.core.trajectory import attribute
from headwise.phases.roles import head_roles
from headwise.view.labels import axis_label, dimension_label, predictor_curve_label, time_label
from headwise.view.panels import AttentionMap, Curve, LegendEntry, Mark, Place, Plot
from headwise.view.style import LOSS, THIN, LineStyle, head_width, in_phase, line_style, lone_style, paler, run_colour

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
            style=lone_style(index),
            name=name,
        )
        for index, name in enumerate(names)
    )


def single_distances(runs: Sequence[xr.Dataset], names: Sequence[str]) -> tuple[Curve, ...]:
    """KL from each of these predictors to the model: the first seed in full, the others as thin lines below it."""
    first = distance_curves(runs[:1], names)
    others = tuple(
        replace(
            curve,
            label="",
            width=THIN,
            colour=paler(curve.colour, share=0.3),
            name=f"{curve.series}{_seed_name(run, index)}",
        )
        for index, run in enumerate(runs[1:], start=1)
        for curve in distance_curves([run], names)
    )
    return (*others, *first)


def distance_panel(
    runs: Sequence[xr.Dataset],
    names: Sequence[str] | None = None,
    *,
    title: str = KL_TITLE,
    marks: tuple[Mark, ...] = (),
    seeds: Literal["band", "lines"] = "band",
) -> Plot:
    """KL from each predictor to the model over training; without names, from those that see the first i groups.

    A trained predictor is another one in every seed, and may not have converged in one of them: a band would then fill
    the panel, so such seeds are drawn as lines.
    """
    require(runs[0], "kl", figure="a figure of distances")
    draw = distance_curves if seeds == "band" else single_distances
    curves = draw(runs, prefixes(runs[0]) if names is None else names)
    return Plot(title, time_label(runs[0]), axis_label("kl"), curves, (0, None), marks=marks)


def loss_panel(runs: Sequence[xr.Dataset], *, title: str) -> Plot:
    """The loss over training on test sequences, which the paper calls validation loss."""
    require(runs[0], "loss", figure="a figure of the loss")
    curve = band("validation loss", runs, lambda run: run["loss"].sel(split="test").values, colour=LOSS)
    return Plot(title, time_label(runs[0]), axis_label("loss"), (curve,), (0, None))


def excess_panel(groups: Mapping[str, Sequence[xr.Dataset]], *, title: str) -> Plot:
    """Excess losses of several experiments over training."""
    for runs in groups.values():
        require(runs[0], "excess_loss", figure="a figure of the excess loss")
    curves = tuple(
        band(label, runs, lambda run: run["excess_loss"].values, colour=run_colour(index), style=line_style(index))
        for index, (label, runs) in enumerate(groups.items())
    )
    return Plot(title, "step", axis_label("excess_loss"), curves, (0, None), height=2.5)


def head_panels(
    runs: Sequence[xr.Dataset], variable: str, *, title: str, limits: tuple[float | None, float | None] = (None, None)
) -> tuple[Plot, ...]:
    """One panel per group: every head's curve on it in the last block; `title` is a panel's around the group's number.

    The first seed is drawn in full. The others are thin lines in the colours of the heads that do the same there: which
    head takes which part, and whether it takes it at all, differs between seeds, so a band over them would hold nothing
    that any seed did.
    """
    require(runs[0], variable, figure="a figure of the heads")
    roles = [found[-1] for found in head_roles(runs)]
    values = [
        run[variable].isel(block=-1).transpose("step", "head", "group").values[:, order]
        for run, order in zip(runs, roles, strict=True)
    ]
    heads, groups = values[0].shape[1:]
    panels = []
    for group in range(groups):
        curves = tuple(
            Curve(
                "",
                run["step"].values.astype(float),
                values[seed][:, head, group],
                colour=paler(head_colour(head), share=0.3) if seed else head_colour(head),
                width=THIN if seed else head_width(head, heads),
                name=f"head {head + 1}{_seed_name(run, seed) if len(runs) > 1 else ''}",
            )
            for seed, run in reversed(list(enumerate(runs)))
            for head in range(heads)
        )
        heading = title.format(group + 1)
        panels.append(
            Plot(
                heading,
                time_label(runs[0]),
                axis_label(variable) if group == 0 else "",
                curves,
                limits,
                legend="none",
                height=1.95,
                name=f"{variable}, {heading}",
            )
        )
    return tuple(panels)


def _seed_name(run: xr.Dataset, index: int) -> str:
    return f", seed {attribute(run, 'seed') if 'seed' in run.attrs else index}"


def by_head_and_group(
    times: np.ndarray,
    values: np.ndarray,
    *,
    group: str = "I({})",
    name: str = "{}",
) -> tuple[Curve, ...]:
    """Curves of values (times, heads, groups): colour says which head, line style which group.

    `group` is the name of a group around its number, `name` that of a curve around head and group. Later heads are
    narrower, so that heads that coincide are all seen.
    """
    heads = values.shape[1]
    return tuple(
        Curve(
            "",
            times,
            values[:, head, index],
            colour=head_colour(head),
            style=in_phase(line_style(index), head_width(head, heads)),
            width=head_width(head, heads),
            name=name.format(f"head {head + 1} on {group.format(index + 1)}"),
        )
        for head in range(heads)
        for index in range(values.shape[2])
    )


def head_entries(heads: int) -> tuple[LegendEntry, ...]:
    """Heads by colour and width."""
    return tuple(LegendEntry(f"head {k + 1}", head_colour(k), width=head_width(k, heads)) for k in range(heads))


def head_and_group_entries(heads: int, groups: int, *, group: str = "on I({})") -> tuple[LegendEntry, ...]:
    """Colours name heads, line styles groups."""
    return (
        *head_entries(heads),
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

    `heads` are its heads in their roles, where they are known already; `name` is the title of a map around its moment.
    """
    run = runs[0]
    require(run, "attention_map", figure="a figure of attention maps")
    steps = run["snapshot"].values
    near = moments(run) if at is None else [int(np.abs(steps - step).argmin()) for step in at]
    edges = {f"I({k})": max(group) for k, group in enumerate(attribute(run, "groups") or [], start=1)}
    roles = list(heads) if heads is not None else first_roles(runs)
    return tuple(
        AttentionMap(
            name.format(f"{time_label(run)} {steps[index]:.10g}"),
            dimension_label("key"),
            dimension_label("query"),
            run["attention_map"].isel(snapshot=index, block=-1).values[roles],
            run["key"].values,
            run["query"].values,
            edges,
            legend=legend,
        )
        for index in dict.fromkeys(near)
    )
