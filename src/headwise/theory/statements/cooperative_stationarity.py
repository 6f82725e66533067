"""Proof of Thm cooperative: what a stationary point satisfies needs s'_(1) in place of s' and Π̃ in place of Π.

At every point at rest of the two-scale flow G_(1)s'_(1) − ‖s'_(1)‖²V' = 0. Printed with ‖s'‖², which counts the
attention on position 1 as well, it fails wherever some of that is left.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, inner, times
from headwise.theory.statement import Outcome, Statement, identity
from headwise.theory.statements.cooperative_region import rest
from headwise.theory.statements.reduced_ascent import reduced_square


def draw_resting(rng: np.random.Generator) -> tuple[Instance, Array, Array]:
    """A point at rest: V' = (m_2/b)V_2*, s' = (1−b)s_1* + b s_2*."""
    i, b = draw_instance(rng), float(rng.uniform(0.2, 0.9))
    return i, i.strengths[1] / b * i.features[1], (1 - b) * i.patterns[0] + b * i.patterns[1]


def _errors(rng: np.random.Generator, trials: int, *, whole: bool) -> Outcome:
    errors = []
    for _ in range(trials):
        i, V, s = draw_resting(rng)
        used = s if whole else rest(s)
        shift = times(i.tail(1), s) - (used @ used) * V
        pull = reduced_square(s) @ (against(V, i.tail(1)) - inner(V, V) * rest(s))
        errors += [float(np.abs(shift).max() / i.strengths[1]), float(np.abs(pull).max() / i.strengths[1] ** 2)]
    return identity(errors, quantity="largest entry of what ought to vanish, over m_2")


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, whole=True)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, whole=False)


STATEMENT = Statement(
    "cooperative-stationarity",
    "Theorem cooperative, proof: stationarity",
    "a stationary point has G_(1)s' − ‖s'‖²V' = 0",
    "G_(1)s'_(1) − ‖s'_(1)‖²V' = 0, and the pull on attention is in the kernel of Π̃(s')",
    as_printed,
    as_corrected,
    fault="typo",
)
