"""Proof of Thm coupling: the ordering region is forward-invariant, but only where ⟨V, V_1*⟩ ≥ 0.

On its boundary z_j = 0 the flow has ż_j = s_1²(m_1⟨V, V_1*⟩ − m_j⟨V, V_j*⟩), which ordering makes non-negative only if
the larger alignment is not negative. ⟨V, V_1*⟩ ≥ 0 itself is kept, because m_1 s_1 > 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, flow
from headwise.theory.statement import Outcome, Statement, bound


def draw_boundary(rng: np.random.Generator, sign: Literal["any", "positive"]) -> tuple[Instance, Array, Array, int]:
    """An ordered point with s_1 = s_j for one j; alignments of any sign, or with a non-negative leader."""
    i = draw_instance(rng)
    j = int(rng.integers(1, i.heads))
    lead = rng.uniform(0, 1) if sign == "positive" else rng.uniform(-1, 1)
    alignments = lead - rng.uniform(0, 0.5, i.heads)
    alignments[0] = lead
    V = np.einsum("k,kab->ab", alignments, i.features)
    s = i.s[0].copy()
    top = int(np.argmax(s[: i.heads]))
    s[0], s[top] = s[top], s[0]
    s[j] = s[0]
    return i, V, s / s.sum(), j


def escape(i: Instance, V: Array, s: Array, j: int) -> float:
    """Speed at which z_j becomes negative."""
    step = flow(i.goal, np.repeat(V[None], i.heads, 0), np.repeat(s[None], i.heads, 0))[1][0]
    return float(max(0.0, step[j] - step[0]))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = [escape(*draw_boundary(rng, "any")) for _ in range(10 * max(trials, 10))]
    share = np.mean(np.array(errors) > 1e-12)
    return bound(errors, within=1e-12, evidence=f"the flow leaves the region at {share:.0%} of boundary points")


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """No escape through z_j = 0, and none through ⟨V, V_1*⟩ = 0."""
    errors = [escape(*draw_boundary(rng, "positive")) for _ in range(10 * trials)]
    for _ in range(trials):
        i, V, s, _ = draw_boundary(rng, "positive")
        V = V - np.sum(V * i.features[0]) * i.features[0]
        shift = flow(i.goal, np.repeat(V[None], i.heads, 0), np.repeat(s[None], i.heads, 0))[0][0]
        errors.append(max(0.0, -float(np.sum(shift * i.features[0]))))
    return bound(errors, within=1e-12, evidence=f"largest speed outwards at {len(errors)} boundary points")


STATEMENT = Statement(
    "coupling-region",
    "Thm coupling, proof: forward invariance",
    "the ordering region is forward-invariant",
    "it is, intersected with ⟨V, V_1*⟩ ≥ 0",
    as_printed,
    as_corrected,
)
