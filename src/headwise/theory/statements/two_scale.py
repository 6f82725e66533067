"""Eq. second_dynamics: with V at its optimum V* the cooperative system is that of one head on G_(1)."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, inner, pi, times
from headwise.theory.statement import Outcome, Statement, compare


def cooperative(i: Instance, V: Array) -> Array:
    """V̇' and ṡ' of Eq. cooperative for a given ensemble."""
    n, first, free, s = i.heads - 1, i.patterns[0], i.V[-1], i.s[-1]
    step = pi(s) @ pi(s) @ (against(free, i.goal) - n * inner(free, V) * first - inner(free, free) * s)
    shift = times(i.goal, s) - n * (first @ s) * V - (s @ s) * free
    return np.concatenate([shift.ravel(), step])


def at_optimum(i: Instance) -> Array:
    best = (i.strengths[0] * i.features[0] - i.s[-1][0] * i.V[-1]) / (i.heads - 1)
    return cooperative(i, best)


def two_scale(i: Instance) -> Array:
    """V̇' = G_(1)s'_(1) − ‖s'_(1)‖²V', ṡ' = Π(s')²(V'_(1)ᵀG_(1) − ‖V'‖²s'_(1))."""
    free, s, rest = i.V[-1], i.s[-1], i.tail(1)
    tail = s - s[0] * i.patterns[0]
    off = free - inner(i.features[0], free) * i.features[0]
    step = pi(s) @ pi(s) @ (against(off, rest) - inner(free, free) * tail)
    return np.concatenate([(times(rest, tail) - (tail @ tail) * free).ravel(), step])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=at_optimum, claim=two_scale)


STATEMENT = Statement(
    "two-scale",
    "Eq. second_dynamics",
    "with V = V* the free head obeys the two-scale system",
    "the same",
    as_printed,
)
