"""Proof of Thm cooperative: φ̇ = ‖V̇'‖² + ‖Π̃(s')∇φ‖² with the reduced Π̃² = Π(s'_(1))² + a²s'_(1)s'_(1)ᵀ, a = ⟨s_1*, s'⟩.

φ̇ is the derivative of φ along the two-scale flow by a complex step; Π̃ is the square root by eigenvalues.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, derivative, draw_instance, inner, pi, times
from headwise.theory.statement import Outcome, Statement, compare
from headwise.theory.statements.cooperative_order_rates import velocities
from headwise.theory.statements.cooperative_region import rest


def reduced_square(s: Array) -> Array:
    """Π̃(s')²."""
    tail = rest(s)
    return np.asarray(pi(tail) @ pi(tail) + s[0] ** 2 * np.outer(tail, tail))


def reduced(s: Array) -> Array:
    """Π̃(s'), positive semi-definite."""
    values, vectors = np.linalg.eigh(reduced_square(s))
    return np.asarray(vectors @ np.diag(np.sqrt(np.maximum(values, 0.0))) @ vectors.T)


def along_flow(i: Instance) -> float:
    V, s = i.V[-1], i.s[-1]
    shift, step = velocities(i, V, s)

    def phi(y: Array) -> float:
        value, tail = y[: V.size].reshape(V.shape), rest(y[V.size :])
        return inner(value, times(i.tail(1), tail)) - inner(value, value) * inner(tail, tail) / 2

    return float(derivative(phi, np.concatenate([V.ravel(), s]), np.concatenate([shift.ravel(), step])))


def display(i: Instance) -> float:
    V, s = i.V[-1], i.s[-1]
    shift, _ = velocities(i, V, s)
    pulled = reduced(s) @ (against(V, i.tail(1)) - inner(V, V) * rest(s))
    return float(inner(shift, shift) + pulled @ pulled)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=along_flow, claim=display)


STATEMENT = Statement(
    "reduced-ascent",
    "Theorem cooperative, proof: φ̇",
    "φ̇ = ‖V̇'‖² + ‖Π̃(s')∇φ‖² with Π̃(s')² = Π(s'_(1))² + a²s'_(1)s'_(1)ᵀ",
    "the same",
    as_printed,
)
