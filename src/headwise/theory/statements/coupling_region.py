"""Proof of Thm coupling: the ordering region is forward-invariant, but only where ⟨V, V_1*⟩ ≥ 0.

On its boundary z_j = 0 the flow has ż_j = s_1²(m_1⟨V, V_1*⟩ − m_j⟨V, V_j*⟩), which ordering makes non-negative only if
the larger alignment is not negative. ⟨V, V_1*⟩ ≥ 0 itself is kept, because m_1 s_1 > 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, flow, pi
from headwise.theory.statement import Counterexample, Outcome, Statement, bound


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
    return bound(
        errors,
        within=1e-12,
        quantity="largest speed outwards at a boundary point",
        evidence=f"the flow leaves the region at {share:.0%} of boundary points",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """No escape through z_j = 0, and none through ⟨V, V_1*⟩ = 0."""
    errors = [escape(*draw_boundary(rng, "positive")) for _ in range(10 * trials)]
    for _ in range(trials):
        i, V, s, _ = draw_boundary(rng, "positive")
        V = V - np.sum(V * i.features[0]) * i.features[0]
        shift = flow(i.goal, np.repeat(V[None], i.heads, 0), np.repeat(s[None], i.heads, 0))[0][0]
        errors.append(max(0.0, -float(np.sum(shift * i.features[0]))))
    return bound(
        errors,
        within=1e-12,
        quantity="largest speed outwards at a boundary point",
        evidence=f"{len(errors)} boundary points, where s_1 = s_j or ⟨V, V_1*⟩ vanishes",
    )


def counterexample() -> Counterexample:
    """Two positions, where everything can be done by hand: ż_2 = s_1²(m_1⟨V, V_1*⟩ − m_2⟨V, V_2*⟩)."""
    m, v, s = np.array([2.0, 1.0]), np.array([-1.0, -1.0]), np.array([0.5, 0.5])
    step = pi(s) @ pi(s) @ (m * v - 2 * (v @ v) * s)
    return Counterexample(
        f"h = T = 2, m = ({m[0]:g}, {m[1]:g}), V = {v[0]:g}·(V_1* + V_2*), s = ({s[0]:g}, {s[1]:g})",
        "z_2 = ⟨s, s_1* − s_2*⟩ = 0 implies ż_2 ≥ 0",
        f"ż_2 = {step[0] - step[1]:g}",
        bool(step[0] < step[1]),
    )


STATEMENT = Statement(
    "coupling-region",
    "Theorem coupling, proof: forward invariance",
    "the ordering region is forward-invariant",
    "it is, intersected with ⟨V, V_1*⟩ ≥ 0",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
