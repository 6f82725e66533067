"""Eq. cooperative: h−1 heads frozen on s_1* and one free head reduce the flow to three equations."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, flow, inner, pi, times
from headwise.theory.statement import Outcome, Statement, compare


def full_flow(i: Instance) -> Array:
    """All velocities of h heads in that configuration: the last head is free; frozen attention must not move."""
    h, first = i.heads, i.patterns[0]
    V = np.concatenate([np.repeat(i.V[:1], h - 1, 0), i.V[-1:]])
    s = np.concatenate([np.repeat(first[None], h - 1, 0), i.s[-1:]])
    shift, step = flow(i.goal, V, s)
    return np.concatenate([step[-1], step[:-1].ravel(), shift.ravel()])


def three_equations(i: Instance) -> Array:
    """As printed."""
    h, first, V, free, s = i.heads, i.patterns[0], i.V[0], i.V[-1], i.s[-1]
    step = pi(s) @ pi(s) @ (against(free, i.goal) - (h - 1) * inner(free, V) * first - inner(free, free) * s)
    shift = i.strengths[0] * i.features[0] - (h - 1) * V - (first @ s) * free
    free_shift = times(i.goal, s) - (h - 1) * (first @ s) * V - (s @ s) * free
    still = np.zeros((h - 1) * i.positions)
    return np.concatenate([step, still, np.repeat(shift[None], h - 1, 0).ravel(), free_shift.ravel()])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=full_flow, claim=three_equations)


STATEMENT = Statement(
    "cooperative-system",
    "Eq. cooperative",
    "with h−1 heads at s_1* the flow is three equations for V, V' and s'",
    "the same",
    as_printed,
)
