"""Attention of the counted queries as shares by lag and group."""

from __future__ import annotations

import numpy as np


def by_lag(attention_map: np.ndarray) -> np.ndarray:
    """Mean share of each lag 1..S over queries, (..., S), from maps (..., queries, keys).

    The queries are the last of the keys' positions; the query at position p predicts p + 1, so a key at p has lag 1.
    """
    queries, keys = attention_map.shape[-2:]
    shares: np.ndarray = np.zeros((*attention_map.shape[:-2], keys))
    for q in range(queries):
        seen = keys - queries + q + 1
        shares[..., :seen] += attention_map[..., q, seen - 1 :: -1] if seen < keys else attention_map[..., q, ::-1]
    return np.asarray(shares / queries)
