"""Lemma kernel, second part: with ‖s‖₁ < 1 the kernel of Π(s) is the span of the unused positions alone."""

from __future__ import annotations

import numpy as np

from headwise.theory.statement import Outcome, Statement, identity
from headwise.theory.statements.kernel import draw_sparse, null_vectors


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(trials):
        s = draw_sparse(rng) * rng.uniform(0.3, 0.9)
        basis = null_vectors(s)
        errors.append(float(np.abs(basis[:, s > 0]).max()) if len(basis) else 0.0)
        errors.append(float(abs(len(basis) - np.sum(s == 0))))
    return identity(errors)


STATEMENT = Statement(
    "kernel-deficit",
    "Lemma kernel, ‖s‖₁ < 1",
    "ker Π(s) is the span of the positions where s vanishes",
    "the same",
    as_printed,
)
