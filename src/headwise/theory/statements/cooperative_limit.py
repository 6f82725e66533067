"""Thm cooperative: the second head need not end sparse.

V' = (m_2/b)V_2*, s' = (1−b)s_1* + b s_2* is at rest for every b in (0, 1]. A start on that edge, such as that of Remark
init_loss, ends at the b that F(b) − ‖V'‖² selects. What always holds is ⟨V', V_2*⟩⟨s', s_2*⟩ → m_2 and φ → m_2²/2.
A start with attention on any position beyond the first two, used or not, does return to s_2*, but only algebraically:
T > n decides, so T > h is sufficient and not necessary (T = h = 3 will do).
"""

from __future__ import annotations

import numpy as np

from headwise.flow.target import singleton_target
from headwise.theory.edge import on_edge, solve_late_head
from headwise.theory.late_limit import corrected_limit, printed_limit, resting_counterexample
from headwise.theory.statement import Counterexample, Outcome, Search, Statement


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return printed_limit(rng, trials, 2)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return corrected_limit(rng, trials, 2)


def searches(rng: np.random.Generator, trials: int) -> list[Search]:
    """Does sparsity return without unused positions?"""
    times = np.array([1e2, 1e5])
    found = []
    for h, T in ((2, 2), (3, 3), (2, 4)):
        target = singleton_target(np.power(1.5, np.arange(h)[::-1]), T)
        s = 0.9 * on_edge(target, 2, 0.3) + 0.1 / T
        _, attention = solve_late_head(target, 2, np.array([0.3, 0.6, 0.1])[:h], s, times)
        share = attention[:, 1]
        found.append(
            Search(
                f"an interior start, h = {h}, T = {T}",
                bool(share[1] < 0.9),
                f"⟨s', s_2*⟩ is {share[0]:.3f} at t = {times[0]:g} and {share[1]:.3f} at t = {times[1]:g}",
            )
        )
    return found


def counterexample() -> Counterexample:
    return resting_counterexample(2)


STATEMENT = Statement(
    "cooperative-limit",
    "Theorem cooperative",
    "ordered starts with φ(0) > 0 converge to V' = m_2V_2*, s' = s_2*",
    "⟨V', V_2*⟩⟨s', s_2*⟩ → m_2 and φ → m_2²/2; on the edge F(b) − ‖V'‖² selects how sparse s' ends",
    as_printed,
    as_corrected,
    searches,
    fault="false",
    counterexample=counterexample,
)
