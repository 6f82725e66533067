"""Which lags each head looks at over training: one small heat map per head, blocks as rows.

Made for models whose groups nobody knows, so nothing but `attention_by_lag` is needed. The data function is pure; the
drawing function only draws.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headwise.view.style import drawing, new_figure, save

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh


def settled_lag(trajectory: xr.Dataset, *, block: int, head: int, last: float = 0.1) -> tuple[int, float]:
    """The lag a head looks at most over the last part of training, and its share there; both count from 1."""
    shares = trajectory["attention_by_lag"].sel(block=block, head=head)
    count = max(1, round(last * shares.sizes["step"]))
    mean = np.nanmean(shares.isel(step=slice(-count, None)).values, axis=0)
    best = int(np.argmax(mean))
    return int(shares["lag"].values[best]), float(mean[best])


def nearest_lags(trajectory: xr.Dataset, count: int) -> xr.Dataset:
    """The lags drawn: up to `count` behind, and as many ahead where the model looks ahead."""
    lags = trajectory["lag"].values
    return trajectory.isel(lag=np.flatnonzero((lags <= count) & (lags > 1 - count)))


def draw_heads_by_lag(trajectory: xr.Dataset, path: Path, *, lags: int = 12) -> None:
    """A grid of heads; dark means much attention, on one scale for all, so that heads can be compared."""
    shown = nearest_lags(trajectory, lags)
    blocks, heads = shown["block"].values, shown["head"].values
    with drawing():
        figure = new_figure(1.0 + 1.5 * len(heads), 0.5 + 1.45 * len(blocks))
        grid = figure.subplots(len(blocks), len(heads), squeeze=False, sharex=True, sharey=True)
        for row, block in enumerate(blocks):
            for column, head in enumerate(heads):
                image = _draw_head(grid[row, column], shown, block=int(block), head=int(head))
            grid[row, 0].set_ylabel(f"block {block}\nlag")
        for axes in grid[-1]:
            axes.set_xlabel("step")
        grid[0, 0].invert_yaxis()  # shared by all: the nearest lag on top
        figure.colorbar(image, ax=grid, label="share of attention", shrink=0.8)
        save(figure, path)


def _draw_head(axes: Axes, trajectory: xr.Dataset, *, block: int, head: int) -> QuadMesh:
    shares = trajectory["attention_by_lag"].sel(block=block, head=head)
    steps, lags = shares["step"].values.astype(float), shares["lag"].values
    mesh = axes.pcolormesh(
        steps, lags, shares.values.T, vmin=0, vmax=1, cmap="Blues", shading="nearest", rasterized=True
    )
    axes.grid(visible=False)
    lag, share = settled_lag(trajectory, block=block, head=head)
    axes.set_title(f"head {head}: lag {lag} ({share:.0%})", fontsize="small")
    return mesh
