"""Eq. lyapunov: φ = ⟨V, Gs⟩ − (h/2)‖V‖²‖s‖², its gradients and its growth; in terms of the loss φ = (½‖G‖² − L)/h."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import (
    Array,
    Instance,
    against,
    derivative,
    draw_instance,
    flow,
    gradient,
    inner,
    pi,
    tensor,
    times,
)
from headwise.theory.statement import Outcome, Statement, identity, relative_error


def potential(goal: Array, h: int, V: Array, s: Array) -> float:
    return inner(V, times(goal, s)) - h / 2 * inner(V, V) * inner(s, s)


def _gradients(goal: Array, h: int, V: Array, s: Array) -> tuple[Array, Array]:
    return gradient(lambda v: potential(goal, h, v, s), V), gradient(lambda u: potential(goal, h, V, u), s)


def _growth(i: Instance) -> float:
    """The derivative of φ along the flow of all heads, at a point where they are equal."""
    h, V, s = i.heads, i.V[0], i.s[0]
    shift, step = flow(i.goal, np.repeat(V[None], h, 0), np.repeat(s[None], h, 0))

    def phi(y: Array) -> float:
        return potential(i.goal, h, y[: V.size].reshape(V.shape), y[V.size :])

    return float(derivative(phi, np.concatenate([V.ravel(), s]), np.concatenate([shift[0].ravel(), step[0]])))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """The two gradients, and φ̇ = ‖V̇‖² + ‖Π(s)∇_s φ‖²."""
    errors = []
    for _ in range(trials):
        i = draw_instance(rng)
        goal, h, V, s = i.goal, i.heads, i.V[0], i.s[0]
        by_v = times(goal, s) - h * (s @ s) * V
        by_s = against(V, goal) - h * np.sum(V**2) * s
        true_v, true_s = _gradients(goal, h, V, s)
        errors += [relative_error(true_v, by_v), relative_error(true_s, by_s)]
        errors.append(relative_error(_growth(i), np.sum(by_v**2) + np.sum((pi(s) @ by_s) ** 2)))
    return identity(errors)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """All of that, and φ = (½‖G‖² − L)/h."""
    errors = [as_printed(rng, trials).error]
    for _ in range(trials):
        i = draw_instance(rng)
        h, V, s = i.heads, i.V[0], i.s[0]
        loss = 0.5 * np.sum((i.goal - tensor(np.repeat(V[None], h, 0), np.repeat(s[None], h, 0))) ** 2)
        errors.append(relative_error(potential(i.goal, h, V, s), (0.5 * np.sum(i.goal**2) - loss) / h))
    return identity(errors)


STATEMENT = Statement(
    "coupled-lyapunov",
    "Eq. lyapunov",
    "the gradients of φ and φ̇ = ‖V̇‖² + ‖Π(s)∇_s φ‖² ≥ 0",
    "the same, with φ = (½‖G‖² − L)/h",
    as_printed,
    as_corrected,
)
