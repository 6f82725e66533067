"""Proof of Thm bounded: max_s ‖Gs‖/(h‖s‖²) is not m_1/h.

For one feature the maximum over the simplex is (m_1/h)(1 + √T)/2, at s_1 = 1/√T; for any number of features it is at
most (m_1/h)√T because ‖Gs‖ ≤ m_1‖s‖ and ‖s‖ ≥ 1/√T. The coupled flow from V = 0 does exceed m_1/h.
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import coupled
from headwise.flow.target import Target, singleton_target
from headwise.theory.statement import Counterexample, Outcome, Statement, bound, identity


def peak(target: Target, heads: int) -> float:
    """Largest ‖V‖ of the coupled flow from V = 0 and uniform attention."""
    system = coupled(target, heads)
    y = system.pack(State(np.zeros((1, target.features)), np.zeros((1, target.positions))))
    states = integrate(system.field, y, t_end=20.0 * target.positions, rtol=1e-8, atol=1e-11).states
    return float(np.linalg.norm(system.unpack(states).coefficients, axis=-1).max())


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    ratios = []
    for _ in range(min(trials, 6)):
        h, T = int(rng.integers(1, 4)), int(rng.integers(10, 40))
        m = np.power(1.6, np.arange(h)[::-1])
        ratios.append(peak(singleton_target(m, T), h) / (m[0] / h))
    return bound(
        [r - 1 for r in ratios],
        within=1e-9,
        quantity="largest ‖V‖ of a coupled flow over m_1/h, minus one",
        evidence=f"the coupled flow reaches {max(ratios):.2f} times m_1/h",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(min(trials, 6)):
        T = int(rng.integers(2, 60))
        share = np.linspace(0.0, 1.0, 200_001)
        ratio = share / (share**2 + (1 - share) ** 2 / (T - 1))
        errors.append(abs(float(ratio.max()) - (1 + np.sqrt(T)) / 2))
        h, positions = int(rng.integers(1, 4)), int(rng.integers(10, 40))
        m = np.power(1.6, np.arange(h)[::-1])
        allowed = m[0] / h * (np.sqrt(positions) if h > 1 else (1 + np.sqrt(positions)) / 2)
        errors.append(max(0.0, peak(singleton_target(m, positions), h) / allowed - 1))
    return identity(errors, tolerance=1e-6, quantity="distance of the maximum from the formula, and excess over it")


def counterexample() -> Counterexample:
    s = np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    ratio = float(s[0] / (s @ s))
    return Counterexample(
        "h = 1, T = 4, m_1 = 1, s = (1/2, 1/6, 1/6, 1/6)",
        "‖Gs‖/(h‖s‖²) ≤ m_1/h = 1",
        f"‖Gs‖ = {s[0]:g} and ‖s‖² = {s @ s:.4g}, so it is {ratio:g}",
        ratio > 1,
    )


STATEMENT = Statement(
    "value-bound",
    "Theorem bounded, proof: ‖V‖ ≤ m_1/h",
    "max_s ‖Gs‖/(h‖s‖²) = m_1/h bounds the coupled values",
    "the maximum is (m_1/h)(1 + √T)/2 for one feature and at most (m_1/h)√T for several",
    as_printed,
    as_corrected,
    fault="wrong constant",
    counterexample=counterexample,
)
