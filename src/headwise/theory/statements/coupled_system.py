"""§3.2: heads that start equal stay equal and follow V̇ = Gs − h‖s‖²V, ṡ = Π(s)²(VᵀG − h‖V‖²s)."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, flow, pi, times
from headwise.theory.statement import Outcome, Statement, compare


def all_heads(i: Instance) -> Array:
    """Velocities of all heads at a point where they are equal."""
    V, s = np.repeat(i.V[:1], i.heads, 0), np.repeat(i.s[:1], i.heads, 0)
    shift, step = flow(i.goal, V, s)
    return np.concatenate([shift.reshape(i.heads, -1), step], axis=1)


def one_head(i: Instance) -> Array:
    """The coupled system, repeated."""
    V, s, h = i.V[0], i.s[0], i.heads
    shift = times(i.goal, s) - h * (s @ s) * V
    step = pi(s) @ pi(s) @ (against(V, i.goal) - h * np.sum(V**2) * s)
    return np.repeat(np.concatenate([shift.ravel(), step])[None], h, 0)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=all_heads, claim=one_head)


STATEMENT = Statement(
    "coupled-system",
    "§3.2, coupled dynamics",
    "equal heads stay equal and follow the coupled system",
    "the same",
    as_printed,
)
