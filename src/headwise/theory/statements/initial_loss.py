"""Remark init_loss: V' = (m_1/h)V_1* + εV_2*, s' = (1−ε)s_1* + εs_2* has φ = ε²(m_2 − ½(m_1/h)² − ½ε²).

So the condition holds for small ε exactly when m_2 > ½(m_1/h)² + ½ε². It holds for all strengths when s' is moved much
less than V': with s' moved by η the sign is that of εm_2 − ½η((m_1/h)² + ε²).
"""

from __future__ import annotations

import numpy as np

from headwise.flow.target import singleton_target
from headwise.theory.edge import on_edge, potential
from headwise.theory.statement import Counterexample, Outcome, Statement, bound


def start_potential(m1: float, m2: float, h: int, *, moved: float, tilted: float) -> float:
    """φ at the remark's start with V' moved by `moved` and s' by `tilted`."""
    target = singleton_target(np.array([m1, m2]), 3)
    c = np.array([m1 / h, moved])
    return float(potential(target, 2, c, on_edge(target, 2, tilted)))


def _draw(rng: np.random.Generator) -> tuple[float, float, int]:
    m2 = float(rng.uniform(0.3, 2.0))
    return m2 * float(rng.uniform(1.05, 6.0)), m2, int(rng.integers(2, 5))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """How far below zero φ/ε² gets."""
    values = [start_potential(*_draw(rng), moved=1e-3, tilted=1e-3) / 1e-6 for _ in range(5 * max(trials, 10))]
    share = np.mean(np.array(values) <= 0)
    return bound(
        [max(0.0, -v) for v in values],
        within=0.0,
        quantity="largest −φ(0)/ε²",
        evidence=f"φ ≤ 0 in {share:.0%} of random problems",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """The sign of φ is that of the condition, always; and with s' moved far less than V' it is positive."""
    wrong = []
    for _ in range(5 * trials):
        m1, m2, h = _draw(rng)
        eps = float(10 ** rng.uniform(-4, -0.5))
        condition = m2 > 0.5 * (m1 / h) ** 2 + 0.5 * eps**2
        wrong.append(float((start_potential(m1, m2, h, moved=eps, tilted=eps) > 0) != condition))
        small = 1e-3 * eps * m2 / ((m1 / h) ** 2 + eps**2)
        wrong.append(float(start_potential(m1, m2, h, moved=eps, tilted=min(small, 0.5)) <= 0))
    return bound(
        wrong,
        within=0.0,
        quantity="one where the condition misses the sign of φ(0)",
        evidence=f"the condition misses the sign in {sum(wrong):.0f} of {len(wrong)} draws",
    )


def counterexample() -> Counterexample:
    m1, m2, h, eps = 4.0, 1.0, 2, 0.01
    phi = eps**2 * m2 - 0.5 * ((m1 / h) ** 2 + eps**2) * eps**2
    return Counterexample(
        f"h = {h}, m_1 = {m1:g}, m_2 = {m2:g}, ε = {eps:g}: V'(0) = {m1 / h:g}·V_1* + {eps:g}·V_2*, "
        f"s'(0) = {1 - eps:g}·s_1* + {eps:g}·s_2*",
        "⟨V'_(1), G_(1)s'_(1)⟩ > ½‖V'‖²‖s'_(1)‖²",
        f"the left side is {eps**2 * m2:.4g}, the right side {0.5 * ((m1 / h) ** 2 + eps**2) * eps**2:.4g}",
        phi < 0,
    )


STATEMENT = Statement(
    "initial-loss",
    "Remark init_loss",
    "a small equal perturbation of V' and s' towards feature 2 meets φ(0) > 0",
    "it does only if m_2 > ½(m_1/h)² + ½ε²; or for any strengths when s' is perturbed much less than V'",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
