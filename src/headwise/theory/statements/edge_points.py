"""Proof of Thm cooperative: its stationary point is not the only one; a whole edge is at rest.

As printed, ‖G_(1)s'‖²/‖s'‖² = m_2² only at s' = s_2*. The norm there is that of s'_(1), which says nothing about the
attention left on position 1.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.edge import F, on_edge, solve_late_head
from headwise.theory.instance import Array, Instance, against, draw_instance, inner, pi, times
from headwise.theory.statement import Counterexample, Outcome, Statement, bound


def velocity(i: Instance, V: Array, s: Array) -> float:
    """Speed of the two-scale flow."""
    tail = s - s[0] * i.patterns[0]
    shift = times(i.tail(1), tail) - (tail @ tail) * V
    step = pi(s) @ pi(s) @ (against(V, i.tail(1)) - inner(V, V) * tail)
    return float(np.sqrt(inner(shift, shift) + step @ step))


def resting_points(rng: np.random.Generator, trials: int) -> list[tuple[float, float]]:
    """(b, speed) at random points V' = (m_2/b)V_2* of the edge."""
    found = []
    for _ in range(trials):
        i, b = draw_instance(rng), float(rng.uniform(0.05, 0.95))
        s = (1 - b) * i.patterns[0] + b * i.patterns[1]
        found.append((b, velocity(i, i.strengths[1] / b * i.features[1], s)))
    return found


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """A point at rest with ⟨s', s_2*⟩ < 1 contradicts uniqueness."""
    gaps = [1 - b for b, speed in resting_points(rng, trials) if speed < 1e-12]
    return bound(
        [0.0, *gaps],
        within=1e-9,
        quantity="largest 1 − ⟨s', s_2*⟩ of a point at rest",
        evidence=f"{len(gaps)} of {trials} points of the edge are at rest",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """All of them are at rest, and on the way there F(b) − ‖V'‖² does not change."""
    speeds = [speed for _, speed in resting_points(rng, trials)]
    drifts = []
    for _ in range(min(trials, 5)):
        i, b = draw_instance(rng), float(rng.uniform(0.2, 0.5))
        target = i.target()
        c = np.zeros(i.heads)
        c[0], c[1] = rng.uniform(0, 0.5), rng.uniform(0.3, 1.0)
        V, s = solve_late_head(target, 2, c, on_edge(target, 2, b), np.linspace(0, 50, 40))
        kept = np.array([F(float(a)) for a in s[:, 1]]) - np.sum(V**2, -1)
        drifts.append(float(np.abs(kept - kept[0]).max()))
    return bound(
        [*speeds, *drifts],
        within=1e-7,
        quantity="largest speed on the edge, and drift of the conserved quantity",
        evidence=f"speed there at most {max(speeds):.1g}; F(b) − ‖V'‖² drifts by {max(drifts):.1g} in solved flows",
    )


def counterexample() -> Counterexample:
    """By hand: V̇' = m_2 b V_2* − b²V' and the pull on position 2 is m_2⟨V', V_2*⟩ − ‖V'‖²b; both vanish."""
    m, b = 1.0, 0.5
    v = m / b
    shift, pull = m * b - b**2 * v, m * v - v**2 * b
    return Counterexample(
        f"h = T = 2, m_2 = {m:g}, V' = {v:g}·V_2*, s' = ({1 - b:g}, {b:g})",
        "equality in ‖G_(1)s'_(1)‖²/‖s'_(1)‖² ≤ m_2², so a point at rest, only at s' = s_2*",
        f"‖G_(1)s'_(1)‖²/‖s'_(1)‖² = {(m * b) ** 2 / b**2:g} = m_2², V̇' = {shift:g}·V_2* and "
        f"ṡ' = Π(s')²(0, {pull:g}) = 0",
        shift == 0 and pull == 0 and b < 1,
    )


STATEMENT = Statement(
    "edge-points",
    "Theorem cooperative, proof: uniqueness",
    "equality holds if and only if s' = s_2*",
    "every V' = (m_2/b)V_2*, s' = (1−b)s_1* + b s_2* is at rest, and F(b) − ‖V'‖² is conserved on that edge",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
