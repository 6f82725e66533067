"""Prop. matrix: the population flow is that of ½‖G − P‖², and the two losses differ by the constant ½E‖ξ‖².

The population loss is averaged by enumeration over a finite population (see `noise_assumption`) and differentiated by
a complex step through the softmax.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, derivative, draw_instance, pi, tensor
from headwise.theory.statement import Outcome, Statement, identity, relative_error
from headwise.theory.statements.noise_assumption import population


def population_loss(i: Instance, V: Array, q: Array, x: Array, noise: Array) -> complex:
    """½ E‖y_θ(X) − y*(X, ξ)‖² by enumeration; analytic in V and q."""
    s = np.exp(q) / np.exp(q).sum(-1, keepdims=True)
    error = np.einsum("kab,nbt,kt->na", V, x, s) - np.einsum("abt,nbt->na", i.goal, x) - noise
    return complex(0.5 * np.sum(error * error) / len(x))


def _draw(rng: np.random.Generator) -> tuple[Instance, Array, Array, Array]:
    i = draw_instance(rng, d=3)
    x = population(3, i.positions)
    kicks = rng.standard_normal((len(x), 3))
    return i, np.log(i.s), np.concatenate([x, x]), np.concatenate([kicks, -kicks])


def _slopes(i: Instance, q: Array, x: Array, noise: Array, dv: Array, dq: Array) -> tuple[float, float]:
    """How fast the population loss falls along a direction of V, and along one of q."""
    by_v = derivative(lambda v: population_loss(i, v, q, x, noise), i.V, dv)
    by_q = derivative(lambda u: population_loss(i, i.V, u, x, noise), q, dq)
    return -float(by_v), -float(by_q)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """Equal gradients along random directions of V and q."""
    errors = []
    for _ in range(trials):
        i, q, x, noise = _draw(rng)
        rest = i.goal - tensor(i.V, i.s)
        shift = np.einsum("abt,kt->kab", rest, i.s)
        step = np.stack([pi(row) @ against(v, rest) for v, row in zip(i.V, i.s, strict=True)])
        dv, dq = np.asarray(rng.standard_normal(i.V.shape)), np.asarray(rng.standard_normal(q.shape))
        by_v, by_q = _slopes(i, q, x, noise, dv, dq)
        errors += [relative_error(by_v, np.sum(shift * dv)), relative_error(by_q, np.sum(step * dq))]
    return identity(errors)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """Equal gradients, and losses that differ by exactly ½E‖ξ‖²."""
    errors = [as_printed(rng, trials).error]
    for _ in range(trials):
        i, q, x, noise = _draw(rng)
        factorised = 0.5 * np.sum((i.goal - tensor(i.V, i.s)) ** 2)
        constant = 0.5 * np.sum(noise**2) / len(noise)
        errors.append(relative_error(population_loss(i, i.V, q, x, noise).real, factorised + constant))
    return identity(errors)


STATEMENT = Statement(
    "factorization",
    "Proposition matrix",
    "the population gradient flow is the gradient flow of ½‖G − P‖²",
    "the same; the two losses differ by ½E‖ξ‖²",
    as_printed,
    as_corrected,
)
