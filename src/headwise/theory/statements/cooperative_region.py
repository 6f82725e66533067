"""Proof of Thm cooperative: whether its ordering region is forward-invariant under the two-scale flow.

The region alone is not: on s'_2 = s'_j the flow has ż_j = s'_2²(m_2⟨V', V_2*⟩ − m_j⟨V', V_j*⟩), which is negative where
both alignments are. The theorem also assumes φ(0) > 0, and φ never falls. φ > 0 forces ⟨V', V_2*⟩ > 0, so that with
this hypothesis, which the proof does not use here, the region is kept.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, inner, pi, times
from headwise.theory.statement import Counterexample, Outcome, Reading, Statement, bound


def draw_ordered(rng: np.random.Generator, *, positive: bool) -> tuple[Instance, Array, Array, int]:
    """An ordered point with s_2 = s_j for one j > 2; with φ > 0, or with alignments of any sign."""
    while True:
        i = draw_instance(rng, h=int(rng.integers(3, 5)))
        j = int(rng.integers(2, i.heads))
        lead = float(rng.uniform(-1, 2))
        alignments = lead - rng.uniform(0, 1, i.heads)
        alignments[0], alignments[1] = rng.standard_normal() * 0.3, lead
        V = np.einsum("k,kab->ab", alignments, i.features)
        s = i.s[-1].copy()
        top = 1 + int(np.argmax(s[1 : i.heads]))
        s[1], s[top] = s[top], s[1]
        s[j] = s[1]
        s = s / s.sum()
        if not positive or potential(i, V, s) > 0:
            return i, V, s, j


def rest(s: Array) -> Array:
    """s'_(1)."""
    return np.asarray(s * (np.arange(len(s)) > 0))


def potential(i: Instance, V: Array, s: Array) -> float:
    """φ of the proof."""
    tail = rest(s)
    return float(inner(V, times(i.tail(1), tail)) - 0.5 * inner(V, V) * (tail @ tail))


def escape(i: Instance, V: Array, s: Array, j: int) -> float:
    """Speed at which z_j becomes negative."""
    step = pi(s) @ pi(s) @ (against(V, i.tail(1)) - inner(V, V) * rest(s))
    return float(max(0.0, step[j] - step[1]))


def escape_by_values(i: Instance, V: Array, s: Array, j: int) -> float:
    """Speed at which w_j becomes negative, once V' is moved to w_j = 0."""
    V = V + inner(V, i.features[1] - i.features[j]) * i.features[j]
    shift = times(i.tail(1), rest(s)) - (rest(s) @ rest(s)) * V
    return float(max(0.0, inner(shift, i.features[j] - i.features[1])))


def _errors(rng: np.random.Generator, count: int, *, positive: bool) -> Outcome:
    points = [draw_ordered(rng, positive=positive) for _ in range(count)]
    errors = [escape(*point) for point in points] + [escape_by_values(*point) for point in points]
    share = np.mean(np.array(errors[:count]) > 1e-12)
    return bound(
        errors,
        within=1e-12,
        quantity="largest speed outwards at a boundary point",
        evidence=f"the flow leaves through s_2 = s_j at {share:.0%} of {count} points, through ⟨V', V_2*⟩ = ⟨V', V_j*⟩ "
        f"at most with speed {max(errors[count:]):.1g}",
    )


def region_alone(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, 5 * max(trials, 10), positive=False)


def with_hypotheses(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, 5 * trials, positive=True)


def counterexample() -> Counterexample:
    """h = T = 3, V' = −(V_2* + V_3*): g' = (0, −m_2, −m_3) − 2s'_(1)."""
    m, s = np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.25, 0.25])
    g = np.array([0.0, -m[1], -m[2]]) - 2 * rest(s)
    step = pi(s) @ pi(s) @ g
    return Counterexample(
        f"h = T = 3, m_2 = {m[1]:g}, m_3 = {m[2]:g}, V' = −(V_2* + V_3*), s' = ({s[0]:g}, {s[1]:g}, {s[2]:g})",
        "z_3 = ⟨s', s_2* − s_3*⟩ = 0 implies ż_3 ≥ 0",
        f"ż_3 = {step[1] - step[2]:g}",
        bool(step[1] < step[2]),
    )


STATEMENT = Statement(
    "cooperative-region",
    "Theorem cooperative, proof: forward invariance",
    "the ordering region is forward-invariant",
    "it is where φ > 0, as the theorem assumes of the start",
    None,
    with_hypotheses,
    fault="false",
    readings=(
        Reading("of the region itself", region_alone),
        Reading("of the region where φ > 0", with_hypotheses),
    ),
    counterexample=counterexample,
)
