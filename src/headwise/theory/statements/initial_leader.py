"""App. initialization: s̈_k(0), not ṡ_k(0), has its largest entry on position 1.

ṡ_k(0) = 0 by the display above it in the paper. At the uniform start s is largest everywhere, so Lemma ordering does
apply, position 1 being the largest of Σ_j m_j²s_j* over all positions.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, draw_instance, flow
from headwise.theory.statement import Outcome, Statement, bound
from headwise.theory.statements.initial_value_curvature import second_derivatives
from headwise.theory.statements.initial_velocity import uniform


def shortfall(vectors: list[Array]) -> Outcome:
    """By how much position 1 fails to lead strictly, over the largest entry; one where the vector is zero."""
    missed = []
    for v in vectors:
        size = float(np.abs(v).max())
        missed.append(1.0 if size < 1e-14 else max(0.0, float(v[1:].max() - v[0]) / size))
    led = sum(one == 0 for one in missed)
    return bound(
        missed,
        within=0.0,
        quantity="by how much another entry leads; one where all of them are zero",
        evidence=f"position 1 leads in {led} of {len(missed)} problems",
    )


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    instances = [draw_instance(rng) for _ in range(trials)]
    return shortfall([flow(i.goal, *uniform(i))[1][0] for i in instances])


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return shortfall([second_derivatives(draw_instance(rng))[1][0] for _ in range(trials)])


STATEMENT = Statement(
    "initial-leader",
    "App. initialization: largest entry",
    "the component of ṡ_k(0) on s_1* is its largest",
    "that of s̈_k(0) is",
    as_printed,
    as_corrected,
    fault="typo",
)
