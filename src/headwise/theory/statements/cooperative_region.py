"""Proof of Thm cooperative: its ordering region is forward-invariant under the two-scale flow.

Here the hypothesis φ(0) > 0 forces ⟨V', V_2*⟩ > 0, so the condition missing from Thm coupling comes for free.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, inner, pi, times
from headwise.theory.statement import Outcome, Statement, bound


def draw_boundary(rng: np.random.Generator) -> tuple[Instance, Array, Array, int]:
    """An ordered point with s_2 = s_j for one j > 2 and φ > 0."""
    while True:
        i = draw_instance(rng, h=int(rng.integers(3, 5)))
        j = int(rng.integers(2, i.heads))
        lead = float(rng.uniform(-1, 2))
        alignments = lead - rng.uniform(0, 1, i.heads)
        alignments[0], alignments[1] = rng.standard_normal() * 0.3, lead
        V = np.einsum("k,kab->ab", alignments, i.features)
        s = i.s[-1].copy()
        top = 1 + int(np.argmax(s[1 : i.heads]))
        s[1], s[top] = s[top], s[1]
        s[j] = s[1]
        s = s / s.sum()
        tail = s - s[0] * i.patterns[0]
        if inner(V, times(i.tail(1), tail)) > 0.5 * inner(V, V) * (tail @ tail):
            return i, V, s, j


def escape(i: Instance, V: Array, s: Array, j: int) -> float:
    tail = s - s[0] * i.patterns[0]
    step = pi(s) @ pi(s) @ (against(V, i.tail(1)) - inner(V, V) * tail)
    return float(max(0.0, step[j] - step[1]))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = [escape(*draw_boundary(rng)) for _ in range(5 * trials)]
    return bound(errors, within=1e-12, evidence=f"largest speed outwards at {len(errors)} boundary points with φ > 0")


STATEMENT = Statement(
    "cooperative-region",
    "Theorem cooperative, proof: forward invariance",
    "the ordering region is forward-invariant where φ > 0",
    "the same",
    as_printed,
    as_printed,
)
