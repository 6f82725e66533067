"""App. C, higher-order heads: with V, V_2, ..., V_{n−1} at their best the n-th head obeys a system of its own.

The other heads attend to s_1* (h−n+1 of them), s_2*, ..., s_{n−1}*, and have the values of the printed start; the
velocity of the free head in the flow of all heads is compared with the reduced system.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, flow, inner, pi, times
from headwise.theory.statement import Outcome, Statement, compare

Case = tuple[Instance, int]


def draw(rng: np.random.Generator) -> Case:
    """An instance and an n between 2 and h."""
    i = draw_instance(rng, h=int(rng.integers(3, 6)))
    return i, int(rng.integers(2, i.heads + 1))


def configuration(i: Instance, n: int) -> tuple[Array, Array]:
    """V and s of all heads, the free one last."""
    free, s, ensemble = i.V[-1], i.s[-1], i.heads - n + 1
    best = [i.strengths[k] * i.features[k] - s[k] * free for k in range(n - 1)]
    V = [best[0] / ensemble] * ensemble + best[1:] + [free]
    attention = [i.patterns[0]] * ensemble + list(i.patterns[1 : n - 1]) + [s]
    return np.stack(V), np.stack(attention)


def of_all_heads(case: Case) -> Array:
    """Velocity of the free head, and of the others, which ought to be at rest."""
    i, n = case
    shift, step = flow(i.goal, *configuration(i, n))
    return np.concatenate([shift[-1].ravel(), step[-1], shift[:-1].ravel(), step[:-1].ravel()])


def reduced(case: Case) -> Array:
    i, n = case
    free, s = i.V[-1], i.s[-1]
    tail, goal = s * (np.arange(i.positions) >= n - 1), i.tail(n - 1)
    shift = times(goal, tail) - (tail @ tail) * free
    step = pi(s) @ pi(s) @ (against(free, goal) - inner(free, free) * tail)
    others = i.heads - 1
    return np.concatenate([shift.ravel(), step, np.zeros(others * (free.size + i.positions))])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw, truth=of_all_heads, claim=reduced)


STATEMENT = Statement(
    "nth-head-system",
    "App. C, higher-order heads: reduction",
    "with the other heads at their best, V̇' = G_(n−1)s'_(n−1) − ‖s'_(n−1)‖²V' and "
    "ṡ' = Π(s')²(V'ᵀG_(n−1) − ‖V'‖²s'_(n−1))",
    "the same",
    as_printed,
)
