"""The phase timeline of one run: what each head copies, the stages of each view, and the competition index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.palette import group_colour, head_colour
from headwise.phases.timeline import Timeline as TimelineData
from headwise.view.labels import curve_label, time_label
from headwise.view.panels import Bar, Curve, Mark, Panel, Plot, Sheet, Span, Timeline

if TYPE_CHECKING:
    import xarray as xr

    from headwise.phases.run_report import RunReport

STAGES = ("#888888", "#BBBBBB")


def phase_sheet(trajectory: xr.Dataset, report: RunReport) -> Sheet:
    """Heads above, views in the middle, competition index and excess loss below, on one time axis."""
    data = report.timeline
    time = time_label(trajectory)
    left = tuple(
        Mark(f"block {o.block} head {o.head} leaves for {o.target}", o.step, colour=head_colour(o.head - 1), width=1.0)
        for o in data.offshoots
    )
    panels: list[Panel] = []
    if data.rows:
        panels.append(head_rows(data, time, left))
    if any(data.stages.values()):
        panels.append(view_rows(data, time, left))
    if curves := index_and_loss(trajectory, data):
        panels.append(
            Plot(
                "", time, "", curves, (-0.03, 1.05), marks=left, legend="inside", grid=False, height=1.75, name="index"
            )
        )
    if not panels:
        raise ConfigError("there is nothing to draw: the report has no heads, no stages and no competition index")
    return Sheet(tuple((panel,) for panel in panels), layout="grid", width=6.6)


def head_rows(data: TimelineData, time: str, left: tuple[Mark, ...]) -> Timeline:
    """A row per head; a bar's colour and text say which pattern it copies."""
    labels = sorted({bar.label for row in data.rows for bar in row.bars}, key=str)
    names = data.head_names
    bars = tuple(
        Bar(
            name,
            bar.start,
            bar.end,
            f"I({bar.label})" if isinstance(bar.label, int) else str(bar.label),
            group_colour(labels.index(bar.label)),
            ink="white",
            alpha=0.85,
        )
        for name, row in zip(names, data.rows, strict=True)
        for bar in row.bars
    )
    phase = data.competitive
    spans = () if phase is None else (Span("competitive phase", phase.start, phase.end),)
    title = "" if phase is None else f"competitive until {phase.end:.4g}"
    return Timeline(title, time, names, bars, left, spans, name="heads")


def view_rows(data: TimelineData, time: str, left: tuple[Mark, ...]) -> Timeline:
    """A row per view, its stages in alternating grey."""
    bars = tuple(
        Bar(view, stage.start, stage.end, str(stage.label), STAGES[index % 2])
        for view, stages in data.stages.items()
        for index, stage in enumerate(stages)
    )
    return Timeline("", time, tuple(data.stages), bars, left, name="views")


def index_and_loss(trajectory: xr.Dataset, data: TimelineData) -> tuple[Curve, ...]:
    """The competition index and the excess loss as a share of its largest value, as far as they are known."""
    curves: list[Curve] = []
    if len(data.index):
        curves.append(Curve(curve_label("competition_index"), data.index_steps, data.index))
    if "excess_loss" in trajectory:
        excess = trajectory["excess_loss"].values
        finite = excess[np.isfinite(excess)]
        if finite.size and finite.max() > 0:
            steps = trajectory["step"].values.astype(float)
            curves.append(
                Curve(
                    f"{curve_label('excess_loss')} (share of its largest)",
                    steps,
                    excess / finite.max(),
                    colour="#999999",
                    width=1.2,
                )
            )
    return tuple(curves)
