"""App. C: the rate of the free head's attention on position 1 in the two-scale system needs a(1−a), not a.

With g' = V'_(1)ᵀG_(1) − ‖V'‖²s'_(1), which vanishes on position 1.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, inner, pi
from headwise.theory.statement import Counterexample, Outcome, Statement, compare


def pull(i: Instance) -> tuple[Array, Array, Array]:
    """s', s'_(1) and g' of the free head."""
    free, s = i.V[-1], i.s[-1]
    tail = s - s[0] * i.patterns[0]
    return s, tail, against(free, i.tail(1)) - inner(free, free) * tail


def truth(i: Instance) -> float:
    s, _, g = pull(i)
    return float((pi(s) @ pi(s) @ g)[0])


def _display(i: Instance, shift: float) -> float:
    s, tail, g = pull(i)
    return float(-s[0] * tail @ (pi(tail) + shift * np.eye(len(s))) @ g)


def printed(i: Instance) -> float:
    return _display(i, i.s[-1][0])


def corrected(i: Instance) -> float:
    return _display(i, i.s[-1][0] * (1 - i.s[-1][0]))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=corrected)


def counterexample() -> Counterexample:
    m, s = 2.0, np.array([0.5, 0.5])
    a, tail, g = s[0], np.array([0.0, s[1]]), np.array([0.0, m - s[1]])
    true = float((pi(s) @ pi(s) @ g)[0])
    claimed = float(-a * tail @ (pi(tail) + a * np.eye(2)) @ g)
    return Counterexample(
        f"T = 2, m_2 = {m:g}, V' = V_2*, s' = ({s[0]:g}, {s[1]:g}), so g' = (0, {g[1]:g})",
        f"⟨s_1*, ṡ'⟩ = {claimed:g}",
        f"the first entry of Π(s')²g' is {true:g}",
        true != claimed,
    )


STATEMENT = Statement(
    "first-position-rate",
    "App. C: ⟨s_1*, ṡ'⟩",
    "⟨s_1*, ṡ'⟩ = −a s'_(1)ᵀ(Π(s'_(1)) + aI)g'",
    "= −a s'_(1)ᵀ(Π(s'_(1)) + a(1−a)I)g'",
    as_printed,
    as_corrected,
    fault="wrong constant",
    counterexample=counterexample,
)
