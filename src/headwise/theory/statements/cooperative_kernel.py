"""Proof of Thm cooperative: the stationarity condition has 1 where h² is printed, in three places.

The free head stands alone: at V' = G_(1)s'_(1)/‖s'_(1)‖² the pull is Σ_j (m_j² − ‖s'_(1)‖²‖V'‖²)⟨s_j*, s'⟩s_j*, times
1/‖s'_(1)‖².
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, times
from headwise.theory.statement import Outcome, Statement, compare
from headwise.theory.statements.coupled_kernel import draw


def optimum(i: Instance) -> tuple[Array, Array]:
    """s'_(1) and the best V' for it."""
    tail = i.s[-1] - i.s[-1][0] * i.patterns[0]
    return tail, times(i.tail(1), tail) / (tail @ tail)


def truth(i: Instance) -> Array:
    tail, V = optimum(i)
    return (tail @ tail) * (against(V, i.tail(1)) - np.sum(V**2) * tail)


def _display(i: Instance, factor: float) -> Array:
    tail, V = optimum(i)
    return (i.strengths**2 - factor * (tail @ tail) * np.sum(V**2)) * tail


def printed(i: Instance) -> Array:
    return _display(i, i.heads**2)


def corrected(i: Instance) -> Array:
    return _display(i, 1.0)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw, truth=truth, claim=corrected)


STATEMENT = Statement(
    "cooperative-kernel",
    "Theorem cooperative, proof: kernel condition",
    "the stationarity condition of the two-scale system, with h²",
    "with 1 in place of h²",
    as_printed,
    as_corrected,
    fault="typo",
)
