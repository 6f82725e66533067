"""The run at a glance: where it stood in function space, and its attention maps at four moments.

The data functions are pure; the drawing functions only draw.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.lines import Line2D

from headwise.core.predictors import predictor_label, predictors_of_kind
from headwise.core.trajectory import attribute
from headwise.view.style import LINES, drawing, group_colour, head_colour, new_figure, save

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def moments(trajectory: xr.Dataset, count: int = 4) -> list[int]:
    """Indices of the snapshots to show: the first, the last, and those nearest to where each KL curve is lowest.

    Without KL curves, or where they leave too few, the rest is spread evenly.
    """
    steps = trajectory["snapshot"].values
    chosen = {0, len(steps) - 1}
    if "kl" in trajectory:
        for name in predictors_of_kind(trajectory["predictor"].values, "prefix")[:-1]:
            curve = trajectory["kl"].sel(predictor=name)
            if np.isfinite(curve.values).any():
                lowest = float(curve["step"].values[int(np.nanargmin(curve.values))])
                chosen.add(int(np.abs(steps - lowest).argmin()))
    for index in np.linspace(0, len(steps) - 1, 2 * count).round().astype(int):
        if len(chosen) >= min(count, len(steps)):
            break
        chosen.add(int(index))
    return sorted(chosen)[:count] if len(chosen) <= count else [*sorted(chosen)[: count - 1], max(chosen)]


def overlay(attention: np.ndarray, *, gain: float = 1.0) -> np.ndarray:
    """Maps of several heads, (heads, queries, keys), as one picture: each head takes its colour out of white."""
    absorbed = np.stack([1 - np.asarray(to_rgb(head_colour(h))) for h in range(attention.shape[0])])
    return np.asarray(np.clip(1 - gain * np.einsum("hqk,hc->qkc", attention, absorbed), 0, 1))


def brightest(attention: np.ndarray) -> float:
    """A gain that makes the strongest entries of a map fully coloured."""
    top = float(np.quantile(attention.sum(0), 0.995)) if attention.size else 0.0
    return 1 / top if top > 0 else 1.0


def draw_overview(trajectory: xr.Dataset, path: Path) -> None:
    """KL curves and excess loss above, attention maps at four moments below."""
    with drawing():
        chosen = moments(trajectory) if "attention_map" in trajectory and trajectory.sizes.get("snapshot", 0) else []
        figure = new_figure(7.0, 4.6 if chosen else 2.4)
        rows = figure.subfigures(2 if chosen else 1, 1, height_ratios=[1.05, 1] if chosen else None, squeeze=False)[
            :, 0
        ]
        left, right = rows[0].subplots(1, 2)
        draw_divergences(left, trajectory)
        draw_group_attention(right, trajectory)
        if chosen:
            panels = rows[1].subplots(1, len(chosen), squeeze=False)[0]
            for axes, index in zip(panels, chosen, strict=True):
                draw_map(axes, trajectory, index)
            panels[0].set_ylabel("query position")
        save(figure, path)


def draw_divergences(axes: Axes, trajectory: xr.Dataset) -> None:
    """KL from each predictor to the model over training, with the excess loss in grey."""
    steps = trajectory["step"].values
    if "excess_loss" in trajectory:
        axes.plot(steps, trajectory["excess_loss"].values, color="#999999", lw=1.2, label="excess loss")
    if "kl" in trajectory:
        for index, name in enumerate(trajectory["predictor"].values):
            axes.plot(
                steps,
                trajectory["kl"].sel(predictor=name).values,
                color=group_colour(index),
                ls=LINES[index % len(LINES)],
                label=predictor_label(str(name), "math"),
            )
    axes.set(xlabel="step", ylabel="nats", title="KL from each predictor to the model")
    axes.set_ylim(bottom=0)
    if axes.get_legend_handles_labels()[0]:
        legend_beside(axes)


def draw_group_attention(axes: Axes, trajectory: xr.Dataset) -> None:
    """Each head's attention on each group: colour says which head, line style which group."""
    if "attention_by_group" not in trajectory:
        axes.set_axis_off()
        return
    shares = trajectory["attention_by_group"].isel(block=-1)
    steps = trajectory["step"].values
    for head in range(shares.sizes["head"]):
        for group in range(shares.sizes["group"]):
            axes.plot(
                steps, shares.isel(head=head, group=group).values, color=head_colour(head), ls=LINES[group % len(LINES)]
            )
    marks = [Line2D([], [], color=head_colour(h), label=f"head {h + 1}") for h in range(shares.sizes["head"])]
    marks += [
        Line2D([], [], color="#555555", ls=LINES[g % len(LINES)], label=f"on I({g + 1})")
        for g in range(shares.sizes["group"])
    ]
    axes.set(xlabel="step", ylabel="share of attention", title="What each head looks at", ylim=(-0.02, 1.02))
    legend_beside(axes, marks)


def legend_beside(axes: Axes, handles: list[Line2D] | None = None) -> None:
    """A legend to the right of a panel, where it can hide nothing."""
    chosen = {"handles": handles} if handles else {}
    axes.legend(**chosen, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handlelength=1.9)


def draw_map(axes: Axes, trajectory: xr.Dataset, index: int) -> None:
    """One snapshot of the last block's attention with all heads overlaid."""
    snapshot = trajectory["attention_map"].isel(snapshot=index, block=-1)
    keys, queries = snapshot["key"].values, snapshot["query"].values
    picture = overlay(snapshot.values, gain=brightest(snapshot.values))
    edges = (keys[0] - 0.5, keys[-1] + 0.5, queries[-1] + 0.5, queries[0] - 0.5)
    axes.imshow(picture, extent=edges, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    for group in attribute(trajectory, "groups") or []:
        # The far edge of each group: key = query + 1 - lag, drawn as a thin diagonal.
        axes.plot(queries + 0.5 - max(group), queries, color="#BBBBBB", lw=0.5)
    axes.set(title=f"step {snapshot['snapshot'].item():g}", xlabel="key position", xlim=edges[:2], ylim=edges[2:])
