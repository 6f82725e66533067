"""Attention and shares made by hand, with known answers."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headwise.zoo.truth.shares import Shares

STEPS = np.arange(0, 410, 10)


def even(count: int, heads: int, length: int) -> Tensor:
    """Causal attention spread evenly."""
    weights = torch.ones(length, length, dtype=torch.float64).tril()
    return (weights / weights.sum(-1, keepdim=True)).expand(count, heads, length, length).clone()


def on_lag(count: int, heads: int, length: int, *, lag: int, share: float) -> Tensor:
    """Even attention, but for this share on one lag where a query can see it."""
    weights = even(count, heads, length)
    for query in range(lag - 1, length):
        weights[:, :, query] *= 1 - share
        weights[:, :, query, query + 1 - lag] += share
    return weights


def ramp(start: float, end: float, *, low: float = 0.0, high: float = 0.8) -> np.ndarray:
    """A straight way from `low` to `high` between two steps."""
    return np.interp(STEPS, [start, end], [low, high])


def shares_of(curves: dict[tuple[int, int], np.ndarray], *, heads: int, lags: int = 6) -> Shares:
    """One block; `curves[head, lag]` (both from 1) is the excess share of a lag, all else zero."""
    excess = np.zeros((len(STEPS), 1, heads, lags))
    for (head, lag), curve in curves.items():
        excess[:, 0, head - 1, lag - 1] = curve
    return Shares(STEPS, np.arange(1, lags + 1), excess, np.zeros((len(STEPS), 1, heads)))
