"""Theory over simulation (App. D, second figure): the simplified systems of each stage over the full flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from headwise.core.errors import ConfigError
from headwise.view.labels import axis_label
from headwise.view.panels import Curve, LegendEntry, Mark, Plot, Sheet
from headwise.view.parts import by_head_and_group, head_and_group_entries
from headwise.view.sheets.flow import GROUP

TITLES = {"printed": "simplified systems, as printed", "two-group": "two-group model"}
WIDE, THIN, PALE = 2.4, 1.1, 0.35
"""The flow is drawn wide and pale, the theory thin over it."""


class OverlaidStage(Protocol):
    """What is drawn of one stage: flow and theory on the same heads and times, each (times, heads, groups)."""

    @property
    def stage(self) -> int: ...
    @property
    def theory(self) -> str: ...
    @property
    def times(self) -> np.ndarray: ...
    @property
    def flow_attention(self) -> np.ndarray: ...
    @property
    def flow_alignment(self) -> np.ndarray: ...
    @property
    def theory_attention(self) -> np.ndarray: ...
    @property
    def theory_alignment(self) -> np.ndarray: ...


def theory_sheet(overlays: Sequence[OverlaidStage]) -> Sheet:
    """One column per theory, attention above, values below; dotted lines mark where a stage starts."""
    if not overlays:
        raise ConfigError("there is nothing to draw: no head leaves in any stage, so no theory has anything to follow")
    theories = list(dict.fromkeys(item.theory for item in overlays))
    attention: list[Plot] = []
    values: list[Plot] = []
    for theory in theories:
        chosen = [item for item in overlays if item.theory == theory]
        title = TITLES.get(theory, theory)
        marks = tuple(Mark(f"start of stage {o.stage}", float(o.times[0]), colour="#555555", width=0.7) for o in chosen)
        for panels, quantity, label, heading in (
            (attention, "attention", axis_label("attention_by_group"), title),
            (values, "value", axis_label("value_alignment"), ""),
        ):
            panels.append(
                Plot(
                    heading,
                    "time",
                    label,
                    tuple(curve for item in chosen for curve in stage_curves(item, quantity)),
                    xscale="log",
                    marks=marks,
                    legend="none",
                    height=2.2,
                    name=f"{quantity}, {theory}",
                )
            )
    heads, groups = overlays[0].flow_attention.shape[1:]
    entries = (
        *head_and_group_entries(heads, groups, group=GROUP),
        LegendEntry("flow", width=WIDE, alpha=PALE),
        LegendEntry("theory", width=THIN),
    )
    return Sheet((tuple(attention), tuple(values)), layout="grid", width=3.6 * max(len(theories), 1), entries=entries)


def stage_curves(item: OverlaidStage, quantity: str) -> tuple[Curve, ...]:
    """Flow and theory of one stage."""
    flow, theory, group = (
        (item.flow_attention, item.theory_attention, GROUP)
        if quantity == "attention"
        else (item.flow_alignment, item.theory_alignment, "feature {}")
    )
    name = f"stage {item.stage}, {{}}, "
    return (
        *by_head_and_group(item.times, flow, group=group, name=name + "flow", width=WIDE, alpha=PALE),
        *by_head_and_group(item.times, theory, group=group, name=name + "theory", width=THIN),
    )
