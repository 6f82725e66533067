"""The paper's simulation figure and its theory-over-simulation figure (App. D), from trajectories and overlays."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from matplotlib.lines import Line2D

from headwise.view.style import LINES, drawing, head_colour, new_figure, save

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


class OverlaidStage(Protocol):
    """What is drawn of one stage: flow and theory on the same heads and times."""

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


def loss_parts(trajectory: xr.Dataset) -> dict[str, np.ndarray]:
    """The loss split by (feature, position): each feature at its own position, and everything else together."""
    parts = trajectory["loss_part"].values
    own = {f"feature {j + 1} at position {j + 1}": parts[:, j, j] for j in range(min(parts.shape[1:]))}
    return {**own, "all else": trajectory["excess_loss"].values - sum(own.values())}


def draw_flow(trajectory: xr.Dataset, path: Path) -> None:
    """Attention by head and group, values by head and feature, the loss and its parts, over time."""
    with drawing():
        figure = new_figure(6.6, 5.6)
        top, middle, bottom = figure.subplots(3, 1, sharex=True)
        times = np.maximum(trajectory["step"].values, 1.0)
        draw_by_head(top, times, trajectory["attention_by_group"].isel(block=0).values)
        top.set(ylabel="attention on (1), (2), (3)", ylim=(-0.02, 1.02))
        draw_by_head(middle, times, trajectory["value_alignment"].isel(block=0).values)
        middle.axhline(0, color="#888888", lw=0.6)
        middle.set(ylabel="$\\langle V_k, V_j^*\\rangle$")
        bottom.plot(times, trajectory["excess_loss"].values, color="#000000", label="loss")
        for index, (name, values) in enumerate(loss_parts(trajectory).items()):
            bottom.plot(times, values, color="#777777", ls=LINES[index % len(LINES)], lw=1.1, label=name)
        bottom.set(xlabel="time", ylabel="loss", xscale="log")
        bottom.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
        top.legend(
            handles=legend_marks(trajectory.sizes["head"], trajectory.sizes["group"]),
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            borderaxespad=0.2,
        )
        save(figure, path)


def draw_overlays(overlays: Sequence[OverlaidStage], path: Path) -> None:
    """Theory (thin, black edge dashes) over the flow: one column per theory, attention above, values below."""
    theories = list(dict.fromkeys(item.theory for item in overlays))
    titles = {"printed": "simplified systems, as printed", "two-group": "two-group model"}
    with drawing():
        figure = new_figure(7.2, 4.4)
        panels = figure.subplots(2, max(len(theories), 1), sharex=True, sharey="row", squeeze=False)
        for column, theory in enumerate(theories):
            for item in (o for o in overlays if o.theory == theory):
                for row, (flow, predicted) in enumerate(
                    ((item.flow_attention, item.theory_attention), (item.flow_alignment, item.theory_alignment))
                ):
                    axes = panels[row, column]
                    draw_by_head(axes, item.times, flow, width=2.4, alpha=0.35)
                    draw_by_head(axes, item.times, predicted, width=1.1)
                    axes.axvline(item.times[0], color="#555555", lw=0.7, ls=":")
            panels[0, column].set_title(titles.get(theory, theory))
            panels[1, column].set(xlabel="time", xscale="log")
        panels[0, 0].set_ylabel("attention")
        panels[1, 0].set_ylabel("$\\langle V_k, V_j^*\\rangle$")
        if overlays:
            heads, groups = overlays[0].flow_attention.shape[1:]
            marks = [
                *legend_marks(heads, groups),
                Line2D([], [], color="#555555", lw=2.4, alpha=0.35, label="flow"),
                Line2D([], [], color="#555555", lw=1.1, label="theory"),
            ]
            figure.legend(handles=marks, loc="outside right upper")
        save(figure, path)


def draw_by_head(axes: Axes, times: np.ndarray, values: np.ndarray, *, width: float = 1.5, alpha: float = 1.0) -> None:
    """Lines over time of values, (times, heads, groups): colour says which head, line style which group."""
    for head in range(values.shape[1]):
        for group in range(values.shape[2]):
            axes.plot(
                times,
                values[:, head, group],
                color=head_colour(head),
                ls=LINES[group % len(LINES)],
                lw=width,
                alpha=alpha,
            )


def legend_marks(heads: int, groups: int) -> list[Line2D]:
    """Colours name heads, line styles groups."""
    marks = [Line2D([], [], color=head_colour(h), label=f"head {h + 1}") for h in range(heads)]
    return marks + [
        Line2D([], [], color="#555555", ls=LINES[g % len(LINES)], label=f"({g + 1})") for g in range(groups)
    ]
