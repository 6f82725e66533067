"""Proof of Thm coupling: the rate of w_j = ⟨V, V_1* − V_j*⟩ along the coupled flow."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, flow
from headwise.theory.statement import Outcome, Statement, compare


def along_flow(i: Instance) -> Array:
    V, s = np.repeat(i.V[:1], i.heads, 0), np.repeat(i.s[:1], i.heads, 0)
    shift = flow(i.goal, V, s)[0][0]
    return np.array([np.sum(shift * (i.features[0] - f)) for f in i.features])


def display(i: Instance) -> Array:
    s, w = i.s[0], np.array([np.sum(i.V[0] * (i.features[0] - f)) for f in i.features])
    return np.asarray(i.strengths[0] * s[0] - i.strengths * s[: i.heads] - i.heads * (s @ s) * w)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=along_flow, claim=display)


STATEMENT = Statement(
    "value-order-rate",
    "Theorem coupling, proof: ẇ_j",
    "ẇ_j = m_1⟨s, s_1*⟩ − m_j⟨s, s_j*⟩ − h‖s‖²w_j",
    "the same",
    as_printed,
)
