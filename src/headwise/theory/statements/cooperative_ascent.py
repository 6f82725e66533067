"""Proof of Thm boundedcoop: φ̇ ends with ‖Π(s')∇_{s'}φ‖², not with ‖Π(s')ṡ'‖²."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, derivative, draw_instance, inner, pi, times
from headwise.theory.statement import Outcome, Statement, compare
from headwise.theory.statements.cooperative_gradient import potential


def velocities(i: Instance) -> tuple[Array, Array, Array, Array]:
    """V̇, V̇', ṡ' of Eq. cooperative, and ∇_{s'}φ."""
    n, first, V, free, s = i.heads - 1, i.patterns[0], i.V[0], i.V[-1], i.s[-1]
    pull = against(free, i.goal) - n * inner(V, free) * first - inner(free, free) * s
    shift = i.strengths[0] * i.features[0] - n * V - (first @ s) * free
    free_shift = times(i.goal, s) - n * (first @ s) * V - (s @ s) * free
    return shift, free_shift, pi(s) @ pi(s) @ pull, pull


def truth(i: Instance) -> float:
    """The derivative of φ along the flow."""
    shift, free_shift, step, _ = velocities(i)
    V, free, s = i.V[0], i.V[-1], i.s[-1]
    direction = np.concatenate([shift.ravel(), free_shift.ravel(), step])
    at = np.concatenate([V.ravel(), free.ravel(), s])

    def along(y: Array) -> float:
        a, b = V.size, 2 * V.size
        return potential(i, y[:a].reshape(V.shape), y[a:b].reshape(V.shape), y[b:])

    return float(derivative(along, at, direction))


def _sum(i: Instance, last: Array) -> float:
    shift, free_shift, _, _ = velocities(i)
    return float((i.heads - 1) * inner(shift, shift) + inner(free_shift, free_shift) + last @ last)


def printed(i: Instance) -> float:
    return _sum(i, pi(i.s[-1]) @ velocities(i)[2])


def corrected(i: Instance) -> float:
    return _sum(i, pi(i.s[-1]) @ velocities(i)[3])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=corrected)


STATEMENT = Statement(
    "cooperative-ascent",
    "Theorem boundedcoop, proof: φ̇",
    "φ̇ = (h−1)‖V̇‖² + ‖V̇'‖² + ‖Π(s')ṡ'‖²",
    "the last term is ‖Π(s')∇_{s'}φ‖²",
    as_printed,
    as_corrected,
    fault="typo",
)
