"""Proof of Thm coupling: the rate of z_j = ⟨s, s_1* − s_j*⟩ along the coupled flow, in its final display."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, flow, times
from headwise.theory.statement import Outcome, Statement, compare


def along_flow(i: Instance) -> Array:
    V, s = np.repeat(i.V[:1], i.heads, 0), np.repeat(i.s[:1], i.heads, 0)
    step = flow(i.goal, V, s)[1][0]
    return np.asarray(step[0] - step[: i.heads])


def display(i: Instance) -> Array:
    V, s, h, m = i.V[0], i.s[0], i.heads, i.strengths
    v = np.array([np.sum(V * f) for f in i.features])
    norm = np.sum(V**2)
    own = s[:h]
    z, r, t = (own[0] ** p - own**p for p in (1, 2, 3))
    pull = against(V, i.goal) - h * norm * s
    level = np.sum(V * times(i.goal, s)) - h * norm * (s @ s)
    return np.asarray(
        m[0] * own[0] ** 2 * v[0] - m * own**2 * v - h * norm * t - z * (s @ (s * pull)) + ((s @ s) * z - r) * level
    )


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=along_flow, claim=display)


STATEMENT = Statement(
    "attention-order-rate",
    "Theorem coupling, proof: ż_j",
    "the final display of ż_j in terms of z_j, r_j and t_j",
    "the same",
    as_printed,
)
