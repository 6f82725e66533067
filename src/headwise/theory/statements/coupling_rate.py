"""Thm coupling, speed: 1 − s_1 ≈ ρ √(h/(2T m_1² t)) with ρ = Σ_{i≠1} (1 − m_i²/m_1²)^{-1/2}, m_i = 0 where unused.

With V at its optimum, small s_i obey ṡ_i = −s_i (s_i² D_i + Σ_l s_l² D_l)/h with D_i = m_1² − m_i². The solution that
falls like t^{-1/2} has s_i² D_i = h/(2T t) for every i. The paper gives no rate: this statement is an addition.
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import coupled
from headwise.flow.target import Target
from headwise.theory.instance import Array, draw_instance
from headwise.theory.statement import Outcome, Statement, bound

FACTOR = 4
TIMES = np.array([1e4, 4e4, 1.6e5])
"""Each `FACTOR` times the one before."""


def leading_gap(target: Target, heads: int, t: float) -> float:
    """The leading term of 1 − s_1 at time t."""
    m = np.zeros(target.positions)
    m[: target.features] = target.strengths
    spread = float(np.sum((1 - m[1:] ** 2 / m[0] ** 2) ** -0.5))
    return spread * float(np.sqrt(heads / (2 * target.positions * m[0] ** 2 * t)))


def leading_value_gap(target: Target, heads: int, t: float) -> float:
    """The leading term of ‖V − (m_1/h)V_1*‖: with V = Gs/(h‖s‖²), (1/h)√(m_1²(1 − s_1)² + Σ_{j>1} m_j² s_j²)."""
    m = target.strengths
    others = heads * m[1:] ** 2 / (2 * target.positions * (m[0] ** 2 - m[1:] ** 2) * t)
    return float(np.sqrt((m[0] * leading_gap(target, heads, t)) ** 2 + np.sum(others))) / heads


def gaps(target: Target, heads: int) -> Array:
    """1 − s_1 at three times, from the uniform start."""
    system = coupled(target, heads)
    y = system.pack(State(np.zeros((1, target.features)), np.zeros((1, target.positions))))
    solution = integrate(system.field, y, t_end=TIMES[-1], method="LSODA", rtol=1e-9, atol=1e-12)
    s = system.attention(system.unpack(solution.at(TIMES)))[:, 0]
    return np.asarray(s[:, 1:].sum(-1))


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """The gap over its leading term tends to one, and the measured exponent to −1/2."""
    errors, rates = [], []
    for _ in range(min(trials, 5)):
        i = draw_instance(rng, ratio=1.4)
        gap = gaps(i.target(), i.heads)
        errors.append(abs(float(gap[-1] / leading_gap(i.target(), i.heads, TIMES[-1])) - 1))
        rates.append(float(np.log(gap[-1] / gap[-2]) / np.log(FACTOR)))
    worst = max(rates, key=lambda r: abs(r + 0.5))
    return bound(
        [*errors, *(abs(r + 0.5) for r in rates)],
        within=0.05,
        quantity="distance of 1 − s_1 from its leading term, and of its exponent from −1/2",
        evidence=f"leading term within {max(errors):.1%} at t = {TIMES[-1]:g}; measured exponent {worst:.3f}",
    )


STATEMENT = Statement(
    "coupling-rate",
    "Beside Theorem coupling: its rate",
    "no rate is given",
    "1 − s_1 ≈ ρ √(h/(2T m_1² t)), so the approach is algebraic",
    None,
    as_corrected,
)
