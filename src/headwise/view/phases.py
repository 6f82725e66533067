"""The phase timeline of one run: what each head copies, the stages of each view, and the competition index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headwise.phases.timeline import Timeline
from headwise.view.style import drawing, group_colour, head_colour, new_figure, save

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from headwise.phases.run_report import RunReport


def draw_phases(trajectory: xr.Dataset, report: RunReport, path: Path) -> None:
    """Heads above, views in the middle, competition index and excess loss below, on one time axis."""
    data = report.timeline
    with drawing():
        figure = new_figure(6.6, 1.9 + 0.28 * len(data.rows) + 1.4)
        top, middle, bottom = figure.subplots(3, 1, sharex=True, height_ratios=[max(len(data.rows), 1) * 0.3, 0.9, 1.3])
        draw_rows(top, data)
        draw_views(middle, data)
        if len(data.index):
            bottom.plot(data.index_steps, data.index, color="#000000", label="competition index")
        if "excess_loss" in trajectory:
            excess = trajectory["excess_loss"]
            bottom.plot(
                excess["step"],
                excess / float(excess.max()),
                color="#999999",
                lw=1.2,
                label="excess loss (of its start)",
            )
        bottom.set(xlabel="step", ylim=(-0.03, 1.05))
        bottom.legend(loc="upper right")
        for axes in (top, middle, bottom):
            for offshoot in data.offshoots:
                axes.axvline(offshoot.step, color=head_colour(offshoot.head - 1), lw=1.0, ls=":")
            axes.grid(visible=False)
        save(figure, path)


def draw_rows(axes: Axes, data: Timeline) -> None:
    """A row per head; a bar's colour and text say which pattern it copies."""
    labels = list(dict.fromkeys(bar.label for row in data.rows for bar in row.bars))
    labels.sort(key=str)
    for y, row in enumerate(data.rows):
        for bar in row.bars:
            colour = group_colour(labels.index(bar.label))
            axes.barh(y, bar.end - bar.start, left=bar.start, height=0.7, color=colour, alpha=0.85)
            if bar.end - bar.start > 0.06 * (data.end - data.start):
                name = f"I({bar.label})" if isinstance(bar.label, int) else str(bar.label)
                axes.text(
                    (bar.start + bar.end) / 2,
                    y,
                    name,
                    ha="center",
                    va="center",
                    color="white",
                    fontsize=7,
                    clip_on=True,
                )
    several = len({row.block for row in data.rows}) > 1
    names = [f"block {row.block} head {row.head}" if several else f"head {row.head}" for row in data.rows]
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    if data.competitive is not None:
        axes.axvspan(data.competitive.start, data.competitive.end, color="#DDDDDD", alpha=0.5, lw=0, zorder=0)
        axes.set_title(f"competitive until {data.competitive.end:g}", loc="left")


def draw_views(axes: Axes, data: Timeline) -> None:
    """A row per view, its stages in alternating grey."""
    for y, stages in enumerate(data.stages.values()):
        for index, stage in enumerate(stages):
            axes.barh(
                y, stage.end - stage.start, left=stage.start, height=0.7, color="#BBBBBB" if index % 2 else "#888888"
            )
            axes.text(
                (stage.start + stage.end) / 2, y, str(stage.label), ha="center", va="center", fontsize=6.5, clip_on=True
            )
    axes.set_yticks(range(len(data.stages)), list(data.stages))
    axes.invert_yaxis()
