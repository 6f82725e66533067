"""Proof of Thm cooperative: the rates of w_j = ⟨V', V_2* − V_j*⟩ and z_j = ⟨s'_(1), s_2* − s_j*⟩, two-scale flow.

The last display of ż_j holds up to a multiple of z_j, so it is compared where z_j = 0.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, inner, pi, times
from headwise.theory.statement import Outcome, Statement, identity, relative_error
from headwise.theory.statements.cooperative_region import rest


def velocities(i: Instance, V: Array, s: Array) -> tuple[Array, Array]:
    """V̇' and ṡ' of Eq. second_dynamics."""
    tail = rest(s)
    shift = times(i.tail(1), tail) - (tail @ tail) * V
    return shift, pi(s) @ pi(s) @ (against(V, i.tail(1)) - inner(V, V) * tail)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(trials):
        i = draw_instance(rng, h=int(rng.integers(3, 5)))
        V, s, m = i.V[-1], i.s[-1], i.strengths
        j = int(rng.integers(2, i.heads))
        tail, v = rest(s), np.array([inner(V, f) for f in i.features])
        shift, step = velocities(i, V, s)
        w = v[1] - v[j]
        errors.append(
            relative_error(inner(shift, i.features[1] - i.features[j]), m[1] * s[1] - m[j] * s[j] - (tail @ tail) * w)
        )
        square = pi(tail) @ pi(tail) + s[0] ** 2 * np.outer(tail, tail)
        g = against(V, i.tail(1)) - inner(V, V) * tail
        errors.append(relative_error(step[1] - step[j], (i.patterns[1] - i.patterns[j]) @ square @ g))
        level = s.copy()
        level[j] = level[1]
        level /= level.sum()
        step = velocities(i, V, level)[1]
        errors.append(relative_error(step[1] - step[j], level[1] ** 2 * m[1] * v[1] - level[j] ** 2 * m[j] * v[j]))
    return identity(errors)


STATEMENT = Statement(
    "cooperative-order-rates",
    "Theorem cooperative, proof: ẇ_j and ż_j",
    "ẇ_j = m_2⟨s', s_2*⟩ − m_j⟨s', s_j*⟩ − ‖s'_(1)‖²w_j and "
    "ż_j = m_2⟨s', s_2*⟩²⟨V', V_2*⟩ − m_j⟨s', s_j*⟩²⟨V', V_j*⟩ + cz_j",
    "the same",
    as_printed,
)
