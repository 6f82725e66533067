"""Models in which nothing happens: heads whose attention wanders, measured on a batch, and a loss that stays."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.core.trajectory import assemble

CONTEXT = 64
FOLDS = 8


def wandering_model(
    seed: int, *, blocks: int = 12, heads: int = 12, looks: int = 200, reach: float = 0.5, loss: bool = True
) -> xr.Dataset:
    """Random walks of every head's logits by lag, of standard deviation `reach` at the end; sequences add noise.

    Roles have scores around 0 with the noise of a batch of a few sequences, and so have their folds.
    """
    rng = np.random.default_rng(seed)
    lags = np.arange(1, CONTEXT + 1)
    walk = rng.normal(size=(looks, blocks, heads, CONTEXT)).cumsum(axis=0) * reach / np.sqrt(looks)
    seen = np.arange(1, CONTEXT + 1)
    chance = np.where(seen[:, None] >= lags, 1 / seen[:, None], 0).mean(axis=0)
    weights = np.exp(walk)
    attention = np.zeros_like(weights)
    for n in range(1, CONTEXT + 1):
        part = weights[..., :n]
        attention[..., :n] += part / part.sum(axis=-1, keepdims=True) / CONTEXT
    error = 0.1 * attention * rng.uniform(0.5, 1.5, size=attention.shape)
    attention = np.clip(attention + error * rng.normal(size=attention.shape), 0, None)
    folds = 0.05 * rng.normal(size=(looks, FOLDS, blocks, heads, 3))
    variables = {
        "attention_by_lag": attention,
        "lag_chance": np.tile(chance, (looks, 1)),
        "lag_error": error,
        "role_score": folds.mean(axis=1),
        "role_chance": np.full((looks, blocks, heads, 3), 0.1),
        "role_fold": folds,
    }
    if loss:
        variables["loss"] = (3 + 0.003 * rng.normal(size=looks))[:, None]
    coordinates = {
        "step": np.arange(looks) * 50,
        "lag": lags,
        "role": ["first", "induction", "duplicate"],
        "split": ["validation"],
    }
    return assemble(variables, coordinates)
