"""The paper's simulation figure (App. D): attention, values and loss of the regression flow over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.palette import head_colour
from headwise.view.labels import axis_label
from headwise.view.panels import Curve, Mark, Plot, Sheet
from headwise.view.parts import by_head_and_group, head_and_group_entries, require
from headwise.view.style import line_style

if TYPE_CHECKING:
    import xarray as xr

SHOWN_FROM = 0.5
"""Time from which a flow is drawn on a logarithmic axis; nothing happens before."""

ZERO = Mark("zero", 0.0, axis="y", style="-", width=0.6)
GROUP = "({})"
"""Groups of a flow are positions, named as the paper names them."""


def flow_sheet(trajectory: xr.Dataset) -> Sheet:
    """Attention by head and group, values by head and feature, the loss and its parts, on one time axis."""
    require(trajectory, "attention_by_group", "value_alignment", "loss_part", "excess_loss", figure="a flow's figure")
    shown = after_start(trajectory)
    times = shown["step"].values.astype(float)
    attention = shown["attention_by_group"].isel(block=0).transpose("step", "head", "group").values
    values = shown["value_alignment"].isel(block=0).transpose("step", "head", "group").values
    return Sheet(
        (
            (
                Plot(
                    "",
                    "time",
                    axis_label("attention_by_group"),
                    by_head_and_group(times, attention, group=GROUP),
                    (-0.02, 1.02),
                    xscale="log",
                    legend="right",
                    entries=head_and_group_entries(*attention.shape[1:], group="position, feature ({})"),
                    height=1.85,
                    name="attention",
                ),
            ),
            (
                Plot(
                    "",
                    "time",
                    axis_label("value_alignment"),
                    by_head_and_group(times, values, group="feature {}"),
                    xscale="log",
                    marks=(ZERO,),
                    legend="none",
                    height=1.85,
                    name="value",
                ),
            ),
            (
                Plot(
                    "",
                    "time",
                    "loss",
                    loss_curves(shown, attention[-1] * values[-1]),
                    xscale="log",
                    legend="right",
                    height=1.9,
                    name="loss",
                ),
            ),
        ),
        layout="grid",
        width=6.6,
    )


def after_start(trajectory: xr.Dataset) -> xr.Dataset:
    """The part of a flow that is drawn on a logarithmic axis."""
    steps = trajectory["step"].values
    late = steps >= SHOWN_FROM if (steps >= SHOWN_FROM).any() else steps > 0
    if not late.any():
        raise ConfigError("there is nothing to draw: the flow has no time after 0")
    return trajectory.isel(step=late)


def loss_curves(shown: xr.Dataset, delivered: np.ndarray) -> tuple[Curve, ...]:
    """The loss and its parts by (feature, position): each feature at its own position, and everything else together.

    A part has the colour of the head that delivers most of the feature at the end; `delivered` is (heads, features).
    """
    times, loss = shown["step"].values.astype(float), shown["excess_loss"].values
    parts = shown["loss_part"].transpose("step", "feature", "position").values
    own = [parts[:, j, j] for j in range(min(parts.shape[1:]))]
    return (
        Curve("loss", times, loss),
        *(
            Curve(
                f"feature {j + 1} at position {j + 1}",
                times,
                part,
                colour=head_colour(int(delivered[:, j].argmax())),
                style=line_style(j),
                width=1.1,
            )
            for j, part in enumerate(own)
        ),
        Curve("all else", times, loss - sum(own), colour="#777777", style=":", width=1.1),
    )
