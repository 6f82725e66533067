"""Thm coupling: equal heads converge to V = (m_1/h)V_1*, s = s_1*; from every s(0) inside the simplex, ordered or not.

The theorem assumes an ordered start alone. Where s(0) may lie on the boundary of the simplex, a start without attention
on any feature's position never moves. A softmax never is on the boundary, and inside the simplex the limit is the one
that is claimed, although the proof is not the reason: its ordering region is left where ⟨V, V_1*⟩ < 0 (see
`coupling_region`), and attention may then rest near another feature's position for a long time. It does not stay there:
near s_j* with m_j < m_1, let y = s_1²(m_1² − m_j²) and x = s_l² m_j² for an unused position l; then
d log(y/x)/dt = 2(x + y)/h > 0, so that attention on position 1 comes back in the end. The approach is algebraic (see
`coupling_rate`); arrival is judged against the leading terms of both gaps, at a time that lets the slowest return.
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.simplex import centred_logits
from headwise.flow.solve import integrate
from headwise.flow.systems import coupled
from headwise.flow.target import Target, singleton_target
from headwise.theory.instance import Array, draw_attention, draw_instance
from headwise.theory.statement import Counterexample, Outcome, Reading, Search, Statement, bound
from headwise.theory.statements.coupling_rate import leading_gap, leading_value_gap

HORIZON = 1e8
COSINE = 0.4
NEAR = 1.5
"""Times its leading term up to which a gap counts as closed: the next terms fall faster, so the limit is one."""

AWAY = (np.array([10.0, 9.0]), 4, -16.0, 1e3)
"""Strengths, T, both alignments at the start and a time at which attention is elsewhere: an ordered start at uniform
attention that leaves the ordering region."""


def final_state(target: Target, heads: int, c: Array, s: Array, *, t_end: float = HORIZON) -> tuple[Array, Array]:
    """Coefficients and attention of the coupled flow at `t_end`, from attention inside the simplex."""
    system = coupled(target, heads)
    y = system.pack(State(c[None], centred_logits(s)[None]))
    end = system.unpack(integrate(system.field, y, t_end=t_end, method="LSODA", rtol=1e-9, atol=1e-12).states[-1])
    return end.coefficients[0], system.attention(end)[0]


def ordered_start(rng: np.random.Generator, h: int, T: int) -> tuple[Array, Array]:
    """Alignments of any sign led by the first, and attention led by position 1 among the used ones."""
    c, s = rng.standard_normal(h), draw_attention(rng, T)
    for x in (c, s):
        top = int(np.argmax(x[:h]))
        x[0], x[top] = x[top], x[0]
    return c, s


def gaps(target: Target, heads: int, c: Array, s: Array) -> tuple[float, float]:
    """1 − s_1 and ‖V − (m_1/h)V_1*‖ at the end, each over its leading term."""
    V, attention = final_state(target, heads, c, s)
    limit = np.zeros(target.features)
    limit[0] = target.strengths[0] / heads
    return (
        float(attention[1:].sum()) / leading_gap(target, heads, HORIZON),
        float(np.linalg.norm(V - limit)) / leading_value_gap(target, heads, HORIZON),
    )


def arrival(found: list[tuple[float, float]]) -> Outcome:
    """Whether both gaps have closed in every flow."""
    attention, values = (max(column) for column in zip(*found, strict=True))
    return bound(
        [attention, values],
        within=NEAR,
        quantity=f"distance from the claimed limit at t = {HORIZON:g}, over its leading term",
        evidence=f"in {len(found)} flows 1 − s_1 is at most {attention:.2f} times its leading term, "
        f"‖V − (m_1/h)V_1*‖ at most {values:.2f} times",
    )


def interior(rng: np.random.Generator, trials: int) -> Outcome:
    """Ordered starts with alignments of any sign, the one that leaves the region among them."""
    found = [gaps(*_away())]
    for _ in range(min(trials, 5)):
        i = draw_instance(rng)
        found.append(gaps(i.target(), i.heads, *ordered_start(rng, i.heads, i.positions)))
    return arrival(found)


def boundary(rng: np.random.Generator, trials: int) -> Outcome:
    """Ordered starts on the boundary: attention on unused positions alone."""
    speeds = []
    for _ in range(trials):
        i = draw_instance(rng, T=int(rng.integers(5, 9)))
        s = np.zeros(i.positions)
        s[i.heads :] = rng.dirichlet(np.ones(i.positions - i.heads))
        system = coupled(i.target(), i.heads, chart="s")
        moved = system.velocity(State(np.zeros((1, i.heads)), s[None]))
        speeds.append(float(np.abs(moved.moving).max() + np.abs(moved.coefficients).max()))
    stuck = float(np.mean(np.array(speeds) == 0))
    return bound(
        [stuck],
        within=0.0,
        quantity="share of the starts that never move",
        evidence=f"no values and attention on unused positions alone is at rest in {stuck:.0%} of {trials} problems",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """Starts inside the simplex in no order at all."""
    found = []
    for _ in range(min(trials, 5)):
        i = draw_instance(rng)
        found.append(gaps(i.target(), i.heads, rng.standard_normal(i.heads), draw_attention(rng, i.positions)))
    return arrival(found)


def _away() -> tuple[Target, int, Array, Array]:
    strengths, T, alignment, _ = AWAY
    return singleton_target(strengths, T), 2, np.full(2, alignment), np.full(T, 1 / T)


def counterexample() -> Counterexample:
    strengths, T = np.array([2.0, 1.0]), 3
    system = coupled(singleton_target(strengths, T), 2, chart="s")
    s = np.eye(T)[-1]
    moved = system.velocity(State(np.zeros((1, 2)), s[None]))
    speed = float(np.abs(moved.coefficients).max() + np.abs(moved.moving).max())
    time = AWAY[-1]
    late = final_state(*_away(), t_end=time)[1]
    return Counterexample(
        f"h = 2, T = {T}, m = ({strengths[0]:g}, {strengths[1]:g}), V(0) = 0, s(0) = ({s[0]:g}, {s[1]:g}, {s[2]:g})",
        "both orderings hold (as equalities), so s converges to s_1*",
        f"V̇ = 0 and ṡ = 0: the speed is {speed:g}, nothing moves. Inside the simplex the limit is right but can be "
        f"late: with m = ({AWAY[0][0]:g}, {AWAY[0][1]:g}), T = {AWAY[1]}, V(0) = {AWAY[2]:g}(V_1* + V_2*) and uniform "
        f"s(0), position 2 has {late[1]:.2f} of the attention at t = {time:g}",
        speed == 0.0,
    )


def searches(rng: np.random.Generator, trials: int) -> list[Search]:
    """Each hypothesis dropped in turn."""
    tied = singleton_target(np.array([1.5, 1.5, 1.0]), 5)
    tie = final_state(tied, 3, np.zeros(3), np.full(5, 0.2))[1]
    gram = np.full((3, 3), COSINE) + (1 - COSINE) * np.eye(3)
    related = singleton_target(np.array([2.0, 1.5, 1.0]), 5, gram)
    leaning = final_state(related, 3, np.zeros(3), np.full(5, 0.2))[1]
    square = singleton_target(np.array([2.0, 1.5, 1.0]), 3)
    tight = gaps(square, 3, np.zeros(3), np.full(3, 1 / 3))[0]
    return [
        Search(
            "strengths differ (m_1 = m_2)", bool(tie[0] < 0.75), f"s ends at {tie[0]:.3f}, {tie[1]:.3f} on the tied two"
        ),
        Search(
            f"features orthogonal (cosine {COSINE:g})",
            bool(leaning[0] < 0.95),
            f"s ends at {leaning[0]:.3f}, {leaning[1]:.3f}, {leaning[2]:.3f}",
        ),
        Search("unused positions exist (T = h)", tight > NEAR, f"1 − s_1 is {tight:.2f} times its leading term"),
    ]


STATEMENT = Statement(
    "coupling",
    "Theorem coupling",
    "ordered starts converge to V = (m_1/h)V_1*, s = s_1*",
    "so does every start with s(0) inside the simplex, in any order and for any V(0); the approach is algebraic",
    None,
    as_corrected,
    searches,
    fault="false",
    readings=(
        Reading("s(0) is a softmax, so inside the simplex", interior),
        Reading("s(0) may be any point of the simplex", boundary),
    ),
    counterexample=counterexample,
)
