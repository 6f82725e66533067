"""Trajectories of heads that attend to single lags, as a watched model gives them: no groups, chance and a loss."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from headwise.core.trajectory import assemble
from headwise.phases.chance import even_attention

LENGTH = 20
STEPS = np.arange(0, 1001, 10.0)


def ramp(middle: float, *, width: float = 40.0, steps: np.ndarray = STEPS) -> np.ndarray:
    """Logistic from 0 to 1; 10 to 90 % take `width`."""
    return np.asarray(1 / (1 + np.exp(np.clip(-(steps - middle) * 2 * np.log(9) / width, -700, 700))))


def lag_run(
    heads: list[list[Mapping[int, np.ndarray]]], *, loss: np.ndarray | None = None, steps: np.ndarray = STEPS
) -> xr.Dataset:
    """`heads[block][head]` says how much of a head's attention is on each lag; the rest is even."""
    even = even_attention(range(1, LENGTH + 1), range(1, LENGTH + 1))
    attention = np.zeros((len(steps), len(heads), len(heads[0]), LENGTH))
    for block, row in enumerate(heads):
        for head, shares in enumerate(row):
            given = np.zeros((len(steps), LENGTH))
            for lag, share in shares.items():
                given[:, lag - 1] = share
            attention[:, block, head] = given + (1 - given.sum(axis=1, keepdims=True)) * even
    variables = {"attention_by_lag": attention, "lag_chance": np.tile(even, (len(steps), 1))}
    if loss is not None:
        variables["loss"] = loss[:, None]
    return assemble(variables, {"step": steps, "lag": np.arange(1, LENGTH + 1), "split": ["validation"]})


def falling(*middles: float, steps: np.ndarray = STEPS, noise: float = 0.002) -> np.ndarray:
    """A loss that falls by 0.5 at each of these times, from 3."""
    rng = np.random.default_rng(0)
    return 3 - 0.5 * sum(ramp(middle, steps=steps) for middle in middles) + noise * rng.normal(size=len(steps))
