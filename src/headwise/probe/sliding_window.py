"""Which lags a query can see where a model has a sliding window that is shorter than the sequence.

A mask leaves exact zeros in the attention of every head and sequence. So the window is read from the attention itself,
whatever library it comes from: beyond some lag nobody looks at anything, and up to that lag no real key is left out by
everybody. Zeros of another shape (a very sharp head, a mask of blocks, a window with a few global tokens) say nothing
sure, and no window is told.
"""

from __future__ import annotations

import numpy as np
from torch import Tensor


def sliding_window(map_HQK: Tensor, by_lag: np.ndarray, valid_BK: Tensor) -> tuple[int, int] | None:
    """Smallest and largest lag in sight, from attention summed over sequences; `None` where there is no window.

    `by_lag`: the same attention summed over each diagonal, (heads, 2 keys - 1), lags ascending.
    """
    _, queries, keys = map_HQK.shape
    seen = np.flatnonzero(by_lag.any(axis=0)) + 2 - keys
    if not len(seen) or not np.isfinite(by_lag).all():
        return None
    smallest, largest = int(seen[0]), int(seen[-1])
    nearest = 1 if smallest >= 1 else 2 - keys  # a model that never looks ahead is causal, which is no window
    if (smallest, largest) == (nearest, keys):
        return None
    own = keys - queries + 1
    real_QK = (valid_BK[:, -queries:, None] & valid_BK[:, None, :]).any(0).tril(own - nearest)
    inside_QK = real_QK.tril(own - smallest).triu(own - largest)
    cut_off = bool((real_QK & ~inside_QK).any())
    return (smallest, largest) if cut_off and bool((map_HQK.sum(0) > 0)[inside_QK].all()) else None
