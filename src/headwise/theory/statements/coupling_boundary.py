"""Proof of Thm coupling, the boundary: w_j = 0 implies ẇ_j ≥ 0, and z_j = 0 implies r_j = t_j = 0.

This part of the argument for forward invariance is right, in corners as well, where several orderings are ties; the
remaining part, ż_j ≥ 0, is `coupling_region`.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import draw_instance, flow
from headwise.theory.statement import Outcome, Statement, bound


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """Alignments tied with the first for a random set of features, attention tied for another, all signs allowed."""
    outwards, powers = [], []
    for _ in range(10 * trials):
        i = draw_instance(rng)
        lead = float(rng.uniform(-1, 1))
        tied = rng.random(i.heads) < 0.5
        alignments = np.where(tied, lead, lead - rng.uniform(0, 0.5, i.heads))
        alignments[0] = lead
        s = i.s[0].copy()
        top = int(np.argmax(s[: i.heads]))
        s[0], s[top] = s[top], s[0]
        level = rng.random(i.heads) < 0.5
        s[: i.heads][level] = s[0]
        s = s / s.sum()
        V = np.einsum("k,kab->ab", alignments, i.features)
        shift = flow(i.goal, np.repeat(V[None], i.heads, 0), np.repeat(s[None], i.heads, 0))[0][0]
        outwards += [max(0.0, float(np.sum(shift * (f - i.features[0])))) for f in i.features[tied]]
        powers += [float(abs(s[0] ** p - s[j] ** p)) for j in np.flatnonzero(level) for p in (2, 3)]
    return bound(
        [*outwards, *powers, 0.0],
        within=1e-12,
        quantity="largest speed outwards where w_j = 0, and largest r_j or t_j where z_j = 0",
        evidence=f"{len(outwards)} boundary points where w_j vanishes, {len(powers) // 2} where z_j does",
    )


STATEMENT = Statement(
    "coupling-boundary",
    "Theorem coupling, proof: boundary",
    "if w_j = 0 then ẇ_j ≥ 0, and if z_j = 0 then r_j = t_j = 0",
    "the same",
    as_printed,
)
