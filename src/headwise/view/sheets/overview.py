"""A training run at a glance: where it stood in function space, what each head looked at, attention at four moments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.core.errors import ConfigError
from headwise.view.labels import axis_label, curve_label, time_label
from headwise.view.panels import Curve, Panel, Plot, Sheet
from headwise.view.parts import (
    KL_TITLE,
    band,
    by_head_and_group,
    distance_curves,
    first_roles,
    head_and_group_entries,
    map_row,
)

if TYPE_CHECKING:
    import xarray as xr


def overview(runs: Sequence[xr.Dataset], *, predictors: Sequence[str] | None = None) -> Sheet:
    """Distances and excess loss of all seeds, heads and attention maps of the first; one run keeps its own numbers.

    `predictors` are those to draw, all that were recorded without it.
    """
    run, heads = runs[0], first_roles(runs)
    top: list[Panel] = []
    if curves := function_curves(runs, predictors):
        top.append(Plot(KL_TITLE, time_label(run), "nats", curves, (0, None), legend="right", height=2.35))
    if "attention_by_group" in run:
        top.append(group_attention(run, heads))
    rows: list[tuple[Panel, ...]] = [tuple(top)] if top else []
    if "attention_map" in run and run.sizes.get("snapshot", 0):
        rows.append(map_row(runs, heads=heads, legend="none" if "attention_by_group" in run else "below"))
    if not rows:
        raise ConfigError(
            "there is nothing to draw: an overview needs kl, excess_loss, attention_by_group or attention_map"
        )
    seeds = f"Bands: lowest to highest of {len(runs)} seeds. Heads and maps: the first of them."
    return Sheet(tuple(rows), notes=(seeds,) if len(runs) > 1 else ())


def function_curves(runs: Sequence[xr.Dataset], predictors: Sequence[str] | None = None) -> tuple[Curve, ...]:
    """The excess loss in grey and the distance from every predictor, as far as they were measured."""
    curves: tuple[Curve, ...] = ()
    if "excess_loss" in runs[0]:
        excess = band(
            curve_label("excess_loss"),
            runs,
            lambda run: run["excess_loss"].values,
            colour="#999999",
            width=1.2,
            name="excess_loss",
        )
        curves = (excess,)
    if "kl" in runs[0]:
        recorded = [str(name) for name in runs[0]["predictor"].values]
        curves += distance_curves(runs, recorded if predictors is None else predictors)
    return curves


def group_attention(run: xr.Dataset, heads: Sequence[int]) -> Plot:
    """Attention of these heads of the last block on each group: colour says which head, line style which group."""
    shares = run["attention_by_group"].isel(block=-1).transpose("step", "head", "group").isel(head=list(heads))
    return Plot(
        "What each head looks at",
        time_label(run),
        axis_label("attention_by_group"),
        by_head_and_group(run["step"].values.astype(float), shares.values),
        (-0.02, 1.02),
        legend="right",
        entries=head_and_group_entries(shares.sizes["head"], shares.sizes["group"]),
        height=2.35,
    )
