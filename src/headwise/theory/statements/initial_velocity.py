"""Remark initialization: at V = 0 and uniform attention V̇_k = G1/T and ṡ_k = 0."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, flow, times
from headwise.theory.statement import Outcome, Statement, compare


def uniform(i: Instance) -> tuple[Array, Array]:
    """V = 0 and s = 1/T for every head."""
    return np.zeros_like(i.V), np.full_like(i.s, 1 / i.positions)


def truth(i: Instance) -> Array:
    shift, step = flow(i.goal, *uniform(i))
    return np.concatenate([shift.ravel(), step.ravel()])


def display(i: Instance) -> Array:
    shift = times(i.goal, np.ones(i.positions)) / i.positions
    return np.concatenate([np.repeat(shift[None], i.heads, 0).ravel(), np.zeros(i.s.size)])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=display)


STATEMENT = Statement(
    "initial-velocity",
    "Remark initialization, first order",
    "V̇_k(0) = G1/T and ṡ_k(0) = 0",
    "the same",
    as_printed,
)
