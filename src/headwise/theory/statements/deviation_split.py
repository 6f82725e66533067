"""Proof of Thm bounded: P about the coupled solution, with W_j = V_j − V and z_j = s_j − s."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, draw_attention, draw_instance, tensor
from headwise.theory.statement import Outcome, Statement, compare

Deviation = tuple[Instance, Array, Array, Array, Array]
"""An instance, the coupled V and s, and the deviations W (h, d, d) and z (h, T) of its heads."""


def draw_deviation(rng: np.random.Generator, eps: float = 0.3) -> Deviation:
    """A coupled point, and heads that deviate from it by about ε."""
    i = draw_instance(rng)
    V, s = i.V[0], draw_attention(rng, i.positions)
    W = np.asarray(rng.standard_normal(i.V.shape))
    return i, V, s, eps * W, eps * (i.s - s)


def prediction(point: Deviation) -> Array:
    """P = Σ_j V_j ⊗ s_j."""
    _, V, s, W, z = point
    return tensor(V + W, s + z)


def display(point: Deviation) -> Array:
    i, V, s, W, z = point
    alone = tensor(np.stack([i.heads * V, W.sum(0), V]), np.stack([s, s, z.sum(0)]))
    return np.asarray(alone + tensor(W, z))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_deviation, truth=prediction, claim=display)


STATEMENT = Statement(
    "deviation-split",
    "Theorem bounded, proof: P",
    "P = hV ⊗ s + (ΣW_j) ⊗ s + V ⊗ (Σz_j) + ΣW_j ⊗ z_j",
    "the same",
    as_printed,
)
