"""Theory over simulation (App. D, second figure): the simplified systems of each stage over the full flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.palette import head_colour
from headwise.view.labels import axis_label
from headwise.view.panels import Curve, LegendEntry, Mark, Plot, Sheet
from headwise.view.parts import require
from headwise.view.sheets.flow import ZERO, after_start
from headwise.view.style import head_width, in_phase, paler

if TYPE_CHECKING:
    import xarray as xr

TITLES = {"printed": "simplified systems as printed", "two-group": "two-group model"}
FLOW = 1.2
"""How much wider the flow is than a head elsewhere: it lies pale under the theory."""

DASHED = 0.6
"""Width of the theory, in widths of a head elsewhere."""


MOST = 400
"""Times of a curve: a panel is not wider, and there are many."""


class OverlaidStage(Protocol):
    """What is drawn of one stage: the theory's heads in the flow's order, each (times, heads, groups)."""

    @property
    def stage(self) -> int: ...
    @property
    def theory(self) -> str: ...
    @property
    def times(self) -> np.ndarray: ...
    @property
    def theory_attention(self) -> np.ndarray: ...
    @property
    def theory_alignment(self) -> np.ndarray: ...


def theory_sheet(overlays: Sequence[OverlaidStage], flow: xr.Dataset) -> Sheet:
    """For each theory attention and values, a column per position: the flow solid and pale, the theory dashed.

    Dotted lines mark where a stage of the theory starts.
    """
    if not overlays:
        raise ConfigError("there is nothing to draw: no head leaves in any stage, so no theory has anything to follow")
    require(flow, "attention_by_group", "value_alignment", figure="a figure of theory over simulation")
    shown = after_start(flow)
    shown = shown.isel(step=evenly(shown.sizes["step"], MOST))
    rows = []
    for theory in dict.fromkeys(item.theory for item in overlays):
        stages = [item for item in overlays if item.theory == theory]
        title = TITLES.get(theory, theory)
        rows.append(_row(shown, stages, "attention_by_group", title=title))
        rows.append(_row(shown, stages, "value_alignment", title=title))
    heads = shown.sizes["head"]
    entries = (
        *(LegendEntry(f"head {k + 1}", head_colour(k), width=head_width(k, heads)) for k in range(heads)),
        LegendEntry("flow", paler("#555555"), width=FLOW * head_width(heads // 2, heads)),
        LegendEntry("theory", "#555555", style="--", width=DASHED * 2),
    )
    return Sheet(tuple(rows), layout="grid", width=7.4, entries=entries)


def evenly(count: int, most: int) -> np.ndarray:
    """Indices of at most so many of `count` places, the first and the last among them."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _row(flow: xr.Dataset, stages: Sequence[OverlaidStage], variable: str, *, title: str) -> tuple[Plot, ...]:
    whole = flow[variable].isel(block=0).transpose("step", "head", "group").values
    times, groups = flow["step"].values.astype(float), whole.shape[2]
    attention = variable == "attention_by_group"
    marks = tuple(Mark(f"start of stage {o.stage}", float(o.times[0]), colour="#555555", width=0.8) for o in stages)
    panels = []
    for group in range(groups):
        curves = [*_curves(times, whole[:, :, group], name="flow")]
        for item in stages:
            theory = item.theory_attention if attention else item.theory_alignment
            kept = evenly(len(item.times), MOST // 2)
            curves += _curves(item.times[kept], theory[kept][:, :, group], name=f"theory, stage {item.stage}")
        what = f"position ({group + 1})" if attention else f"feature {group + 1}"
        panels.append(
            Plot(
                f"{title}\n{what}" if attention and group == groups // 2 else what,
                "time",
                axis_label(variable) if group == 0 else "",
                tuple(curves),
                (-0.03, 1.03) if attention else (None, None),
                xscale="log",
                marks=marks if attention else (*marks, ZERO),
                legend="none",
                height=2.05 if attention else 1.75,
                name=f"{'attention' if attention else 'value'}, {stages[0].theory}, {what}",
            )
        )
    return tuple(panels)


def _curves(times: np.ndarray, values: np.ndarray, *, name: str) -> list[Curve]:
    """Values (times, heads) of the flow, pale and solid, or of a theory, dashed."""
    heads, of_flow = values.shape[1], name == "flow"
    widths = [head_width(k, heads) * (FLOW if of_flow else DASHED) for k in range(heads)]
    return [
        Curve(
            "",
            times,
            values[:, k],
            colour=paler(head_colour(k)) if of_flow else head_colour(k),
            style="-" if of_flow else in_phase("--", widths[k], unit=1.4),
            width=widths[k],
            name=f"head {k + 1}, {name}",
        )
        for k in range(heads)
    ]
