"""Eq. kernel_condition: at V = Gs/(h‖s‖²) attention is pulled along Σ_j (m_j² − h²‖s‖²‖V‖²)⟨s_j*, s⟩s_j*."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, times
from headwise.theory.statement import Outcome, Statement, compare


def draw(rng: np.random.Generator) -> Instance:
    """T = h: the display sums over features on both sides. Three at least, so that a late head has a choice."""
    h = int(rng.integers(3, 6))
    return draw_instance(rng, h=h, T=h)


def truth(i: Instance) -> Array:
    h, s = i.heads, i.s[0]
    V = times(i.goal, s) / (h * (s @ s))
    return np.asarray(h * (s @ s) * (against(V, i.goal) - h * np.sum(V**2) * s))


def display(i: Instance) -> Array:
    h, s = i.heads, i.s[0]
    norm = np.sum(times(i.goal, s) ** 2) / (h * (s @ s)) ** 2
    return np.asarray((i.strengths**2 - h**2 * (s @ s) * norm) * s)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw, truth=truth, claim=display)


STATEMENT = Statement(
    "coupled-kernel",
    "Eq. kernel_condition",
    "the stationarity condition of the coupled system, with h²",
    "the same",
    as_printed,
)
