"""What even attention would give each lag, and how far attention goes above it.

A query that sees n tokens and looks at all of them alike gives each of them 1/n. Lag l is among them where n >= l, so
chance is u(l) = mean over the counted queries of [n >= l] / n, not one over the number of lags. The excess share of
attention a is (a - u) / (1 - u): 0 for even attention, 1 where a head looks at that lag alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from headwise.core.trajectory import attribute

OWN_TOKEN = 1
"""The lag of the query's own token; what lies ahead has smaller lags."""


def chance_of_lags(trajectory: xr.Dataset) -> np.ndarray:
    """Chance u of each recorded lag in each block, (step, block, lag): as recorded, else from the counted queries, else
    all lags alike.

    A flow has one query that sees every position. Where nothing says which queries were counted, each is taken to see
    every recorded lag on its side: too much for lags that few queries see, so that nothing is called a pattern there.
    """
    lags = trajectory["attention_by_lag"]["lag"].values
    shape = (trajectory.sizes["step"], trajectory.sizes["block"], len(lags))
    even = 1.0 / max(int((lags >= OWN_TOKEN).sum()), int((lags <= OWN_TOKEN).sum()))
    fallback = np.full(shape, even)
    recorded = _recorded(trajectory)
    if recorded is not None:
        return np.where(np.isfinite(recorded), recorded, fallback)
    if "query" in trajectory.coords and attribute(trajectory, "source") != "flow" and (lags >= OWN_TOKEN).all():
        return np.tile(even_attention(trajectory["query"].values, lags), (*shape[:2], 1))
    return fallback


def _recorded(trajectory: xr.Dataset) -> np.ndarray | None:
    """(step, block, lag), or (step, 1, lag) where it was recorded for all blocks together."""
    if "lag_chance_by_block" in trajectory:
        return np.asarray(trajectory["lag_chance_by_block"].transpose("step", "block", "lag").values, dtype=float)
    if "lag_chance" in trajectory:
        return np.asarray(trajectory["lag_chance"].transpose("step", "lag").values, dtype=float)[:, None]
    return None


def even_attention(seen: Sequence[int] | np.ndarray, lags: Sequence[int] | np.ndarray) -> np.ndarray:
    """Share of each lag under even causal attention, for queries that see so many tokens each.

    >>> even_attention([1, 2], [1, 2]).tolist()
    [0.75, 0.25]
    """
    n = np.asarray(seen, dtype=float)[:, None]
    return np.asarray(np.where(n >= np.asarray(lags), 1 / n, 0.0).mean(axis=0))


def excess_share(share: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """How far a share goes above chance, as a part of what there is above it; below 0 where it is less than chance."""
    room = np.maximum(1 - chance, 1e-12)
    return np.asarray((share - chance) / room)
