"""Proof of Thm coupling, its last step: s_1* ∉ ker Π(s_∞), so Eq. kernel_condition can be projected on s_1*.

At the limit that the theorem claims, s_∞ = s_1*, Π(s_∞) = 0 and every vector is in the kernel. What is concluded is
right all the same, for another reason: by Lemma kernel the vector in Eq. kernel_condition is constant where s_∞ > 0,
and its product with s_∞ is Σ_j m_j²s_j² − ‖Gs‖² = 0, so that this constant is zero.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import draw_instance, pi, times
from headwise.theory.statement import Counterexample, Outcome, Statement, bound, identity


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """‖Π(s)s_1*‖ at points with ⟨s_1*, s⟩ > 0 that lead to the claimed limit, and there."""
    sizes = []
    for _ in range(trials):
        i = draw_instance(rng)
        sizes += [float(np.linalg.norm(pi(s) @ i.patterns[0])) for s in (i.s[0], i.patterns[0])]
    inside = sum(size < 1e-12 for size in sizes)
    return bound(
        [float(inside)],
        within=0.0,
        quantity="number of points with ⟨s_1*, s⟩ > 0 where s_1* is in the kernel",
        evidence=f"s_1* is in ker Π(s) at {inside} of {len(sizes)} points, all of them s = s_1*",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """⟨s, Σ_j(m_j² − ‖Gs‖²/‖s‖²)⟨s_j*, s⟩s_j* ⟩ = 0 where attention is on features alone, sparse or not."""
    errors = []
    for _ in range(trials):
        h = int(rng.integers(2, 6))
        i = draw_instance(rng, h=h, T=h)
        s = i.s[0] * (rng.random(h) < 0.6)
        s = i.patterns[0] if not s.any() else s / s.sum()
        level = np.sum(times(i.goal, s) ** 2) / (s @ s)
        errors.append(float(abs(s @ ((i.strengths**2 - level) * s)) / level))
    return identity(errors, quantity="the constant on the support, over ‖Gs‖²/‖s‖²")


def counterexample() -> Counterexample:
    s = np.array([1.0, 0.0])
    size = float(np.linalg.norm(pi(s) @ s))
    return Counterexample(
        "T = 2, s_∞ = s_1* = (1, 0)", "s_1* is not in ker Π(s_∞)", f"‖Π(s_∞)s_1*‖ = {size:g}", size == 0.0
    )


STATEMENT = Statement(
    "coupling-projection",
    "Theorem coupling, proof: projection",
    "s_1* ∉ ker Π(s_∞), so the kernel condition gives m_1² = h²‖s_∞‖²‖V_∞‖²",
    "the condition's vector is constant on the support of s_∞ and orthogonal to s_∞, hence zero there",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
