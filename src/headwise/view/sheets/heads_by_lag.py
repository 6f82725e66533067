"""Which lags each head looks at over training: one small heat map per head, blocks as rows.

Made for models whose groups nobody knows, so nothing but `attention_by_lag` is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headwise.core.head_counts import head_counts
from headwise.view.labels import axis_label, dimension_label, time_label
from headwise.view.panels import HeatMap, Sheet
from headwise.view.parts import require

if TYPE_CHECKING:
    import xarray as xr


def settled_lag(trajectory: xr.Dataset, *, block: int, head: int, last: float = 0.1) -> tuple[int, float] | None:
    """The lag a head looks at most over the last part of training, and its share there; both count from 1.

    Nothing where no number of that part is finite.
    """
    shares = trajectory["attention_by_lag"].sel(block=block, head=head).transpose("step", "lag")
    count = max(1, round(last * shares.sizes["step"]))
    end = shares.values[-count:]
    seen = end[np.isfinite(end).all(axis=1)]
    if not len(seen):
        return None
    mean = seen.mean(axis=0)
    best = int(np.argmax(mean))
    return int(shares["lag"].values[best]), float(mean[best])


def nearest_lags(trajectory: xr.Dataset, count: int) -> xr.Dataset:
    """The lags drawn: up to `count` behind, and as many ahead where the model looks ahead."""
    lags = trajectory["lag"].values
    return trajectory.isel(lag=np.flatnonzero((lags <= count) & (lags > 1 - count)))


def heads_by_lag(trajectory: xr.Dataset, *, lags: int = 12) -> Sheet:
    """A grid of heads; dark means much attention, on one scale for all, so that heads can be compared."""
    require(trajectory, "attention_by_lag", figure="a figure of heads by lag")
    shown = nearest_lags(trajectory, lags)
    blocks, heads = shown["block"].values.tolist(), shown["head"].values.tolist()
    rows = tuple(
        tuple(_head(shown, block=block, head=head) for head in heads[:count])
        for block, count in zip(blocks, head_counts(trajectory), strict=True)
    )
    return Sheet(rows, layout="grid", width=1.0 + 1.5 * len(heads))


def _head(trajectory: xr.Dataset, *, block: int, head: int) -> HeatMap:
    shares = trajectory["attention_by_lag"].sel(block=block, head=head).transpose("lag", "step")
    settled = settled_lag(trajectory, block=block, head=head)
    where = f"lag {settled[0]} ({settled[1]:.0%})" if settled else "not finite"
    return HeatMap(
        f"head {head}: {where}",
        time_label(trajectory),
        f"block {block}\n{dimension_label('lag')}",
        shares["step"].values.astype(float),
        shares["lag"].values,
        shares.values,
        (0.0, 1.0),
        axis_label("attention_by_lag"),
        y_direction="falling",
        name=f"block {block} head {head}",
    )
