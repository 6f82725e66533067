"""Thm coupling: equal heads converge to (m_1/h)V_1*, s_1*, given ordering, ⟨V(0), V_1*⟩ ≥ 0 and s(0) interior.

As printed, ordering alone. Counter-examples: with strong features a negative leading alignment can hand the lead to
another position for good, and a start without attention on any used position never moves. Convergence is algebraic (see
`coupling_rate`), so arrival is judged against that rate.
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import coupled
from headwise.flow.target import Target, singleton_target
from headwise.theory.instance import Array, draw_attention, draw_instance
from headwise.theory.statement import Outcome, Search, Statement, bound
from headwise.theory.statements.coupling_rate import leading_gap

HORIZON = 3e4
STRONG, MODERATE = (20, 40), (0.5, 3)
"""Ranges of the strengths from which counter-examples are drawn."""

COSINE = 0.4
NEAR = 1.5
"""Times its leading term up to which 1 − s_1 counts as having arrived."""


def final_state(target: Target, heads: int, c: Array, s: Array, *, t_end: float = HORIZON) -> tuple[Array, Array]:
    """Coefficients and attention of the coupled flow at `t_end`; attention may start on the boundary."""
    system = coupled(target, heads, chart="s")
    y = system.pack(State(c[None], s[None]))
    end = system.unpack(integrate(system.field, y, t_end=t_end, method="LSODA", rtol=1e-8, atol=1e-11).states[-1])
    return end.coefficients[0], end.moving[0]


def ordered_start(rng: np.random.Generator, h: int, T: int, lead: float) -> tuple[Array, Array]:
    """Coefficients led by `lead`, and interior attention led by position 1 among the used ones."""
    c = lead - rng.uniform(0, 0.4, h)
    c[0] = lead
    s = draw_attention(rng, T)
    top = int(np.argmax(s[:h]))
    s[0], s[top] = s[top], s[0]
    return c, s


def distance(target: Target, heads: int, c: Array, s: Array, *, t_end: float = HORIZON) -> float:
    """1 − s_1 at the end."""
    return 1 - float(final_state(target, heads, c, s, t_end=t_end)[1][0])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """Ordered starts with a negative leader, and one without attention on used positions."""
    strong: list[float] = []
    moderate: list[float] = []
    for _ in range(min(trials, 12)):
        # Strong features move attention before the values have turned positive; equal negative alignments then push
        # attention off the strongest feature first. Moderate ones are drawn for comparison.
        h, share, ratio = int(rng.integers(2, 4)), float(rng.uniform(0.5, 1.2)), float(rng.uniform(1.02, 1.15))
        for base, gaps in ((float(rng.uniform(*STRONG)), strong), (float(rng.uniform(*MODERATE)), moderate)):
            target = singleton_target(base * np.power(ratio, np.arange(h)[::-1]), h + 2)
            uniform = np.full(h + 2, 1 / (h + 2))
            gaps.append(distance(target, h, np.full(h, -base * share), uniform, t_end=2e3))
    stuck = distance(singleton_target(np.array([2.0, 1.0]), 4), 2, np.zeros(2), np.array([0, 0, 0, 1.0]), t_end=3e3)
    lost, kept = (float(np.mean(np.array(gaps) > 0.5)) for gaps in (strong, moderate))
    return bound(
        [*strong, stuck],
        within=0.25,
        evidence=(
            f"starts with ⟨V(0), V_1*⟩ < 0 end away from s_1* in {lost:.0%} of problems with strengths "
            f"{STRONG[0]:g} to {STRONG[1]:g} and {kept:.0%} with strengths {MODERATE[0]:g} to {MODERATE[1]:g}; "
            f"s(0) off all features ends {stuck:.2f} away"
        ),
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """1 − s_1 at the end, over what the algebraic rate allows."""
    ratios = []
    for _ in range(min(trials, 12)):
        i = draw_instance(rng)
        c, s = ordered_start(rng, i.heads, i.positions, float(rng.uniform(0, 1)))
        gap = distance(i.target(), i.heads, c, s)
        ratios.append(gap / leading_gap(i.target(), i.heads, HORIZON))
    return bound(
        ratios,
        within=NEAR,
        evidence=f"1 − s_1(t) is at most {max(ratios):.2f} times its leading term at t = {HORIZON:g}",
    )


def searches(rng: np.random.Generator, trials: int) -> list[Search]:
    """Each hypothesis dropped in turn."""
    tied = singleton_target(np.array([1.5, 1.5, 1.0]), 5)
    tie = final_state(tied, 3, np.zeros(3), np.full(5, 0.2))[1]
    gram = np.full((3, 3), COSINE) + (1 - COSINE) * np.eye(3)
    related = singleton_target(np.array([2.0, 1.5, 1.0]), 5, gram)
    leaning = final_state(related, 3, np.zeros(3), np.full(5, 0.2))[1]
    square = singleton_target(np.array([2.0, 1.5, 1.0]), 3)
    tight = distance(square, 3, np.zeros(3), np.full(3, 1 / 3))
    allowed = leading_gap(square, 3, HORIZON)
    return [
        Search(
            "strengths differ (m_1 = m_2)", bool(tie[0] < 0.75), f"s ends at {tie[0]:.3f}, {tie[1]:.3f} on the tied two"
        ),
        Search(
            f"features orthogonal (cosine {COSINE:g})",
            bool(leaning[0] < 0.95),
            f"s ends at {leaning[0]:.3f}, {leaning[1]:.3f}, {leaning[2]:.3f}",
        ),
        Search(
            "unused positions exist (T = h)",
            bool(tight > NEAR * allowed),
            f"1 − s_1 = {tight:.2g}, rate allows {allowed:.2g}",
        ),
    ]


STATEMENT = Statement(
    "coupling",
    "Theorem coupling",
    "ordered starts converge to V = (m_1/h)V_1*, s = s_1*",
    "so they do if also ⟨V(0), V_1*⟩ ≥ 0 and s(0) is interior; the approach is algebraic",
    as_printed,
    as_corrected,
    searches,
)
