"""App. C: the rate of the free head's attention on the other positions, ṡ'_(1) = (Π(s'_(1))² + a²s'_(1)s'_(1)ᵀ)g'."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, pi
from headwise.theory.statement import Outcome, Statement, compare
from headwise.theory.statements.first_position_rate import pull


def truth(i: Instance) -> Array:
    s, _, g = pull(i)
    return (pi(s) @ pi(s) @ g)[1:]


def display(i: Instance) -> Array:
    s, tail, g = pull(i)
    return np.asarray(((pi(tail) @ pi(tail) + s[0] ** 2 * np.outer(tail, tail)) @ g)[1:])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=display)


STATEMENT = Statement(
    "other-positions-rate",
    "App. C: ṡ'_(1)",
    "ṡ'_(1) = (Π(s'_(1))² + a²s'_(1)s'_(1)ᵀ)g'",
    "the same",
    as_printed,
)
