"""Proof of Thm boundedcoop: the gradients of its Lyapunov function; ∇_{s'}φ must start with V'ᵀG, not VᵀG."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, gradient, inner, times
from headwise.theory.statement import Outcome, Statement, compare


def potential(i: Instance, V: Array, free: Array, s: Array) -> float:
    """φ(V, V', s') of the proof."""
    n, first = i.heads - 1, i.patterns[0]
    own = n * i.strengths[0] * inner(V, i.features[0]) - n**2 / 2 * inner(V, V)
    both = n * inner(first, s) * inner(V, free)
    total: float = own - both + inner(free, times(i.goal, s)) - inner(s, s) * inner(free, free) / 2
    return total


def truth(i: Instance) -> Array:
    V, free, s = i.V[0], i.V[-1], i.s[-1]
    by_v = gradient(lambda v: potential(i, v, free, s), V)
    by_free = gradient(lambda v: potential(i, V, v, s), free)
    by_s = gradient(lambda u: potential(i, V, free, u), s)
    return np.concatenate([by_v.ravel(), by_free.ravel(), by_s])


def _display(i: Instance, leading: Array) -> Array:
    n, first, V, free, s = i.heads - 1, i.patterns[0], i.V[0], i.V[-1], i.s[-1]
    by_v = n * (i.strengths[0] * i.features[0] - n * V - (first @ s) * free)
    by_free = times(i.goal, s) - n * (first @ s) * V - (s @ s) * free
    by_s = against(leading, i.goal) - n * inner(V, free) * first - inner(free, free) * s
    return np.concatenate([by_v.ravel(), by_free.ravel(), by_s])


def printed(i: Instance) -> Array:
    return _display(i, i.V[0])


def corrected(i: Instance) -> Array:
    return _display(i, i.V[-1])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=corrected)


STATEMENT = Statement(
    "cooperative-gradient",
    "Theorem boundedcoop, proof: gradients of φ",
    "∇_{s'}φ = VᵀG − (h−1)⟨V, V'⟩s_1* − ‖V'‖²s'",
    "it starts with V'ᵀG",
    as_printed,
    as_corrected,
    fault="typo",
)
