"""App. A, the example with h = 2: overlapping patterns (2/3, 1/3), (1/3, 2/3) and mixed features, the same logits."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, identity, relative_error


def mixed_logits(a1: Array, a2: Array, x1: Array, x2: Array) -> Array:
    """The logits of the overlapping decomposition."""
    b1, b2 = 2 * a1 - a2, -a1 + 2 * a2
    return np.asarray(b1 @ (2 / 3 * x1 + 1 / 3 * x2) + b2 @ (1 / 3 * x1 + 2 / 3 * x2))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(trials):
        a1, a2 = rng.standard_normal((2, 4, 4))
        x1, x2 = rng.standard_normal((2, 4))
        errors.append(relative_error(a1 @ x1 + a2 @ x2, mixed_logits(a1, a2, x1, x2)))
    return identity(errors)


STATEMENT = Statement(
    "identifiability-example",
    "App. A, example",
    "B_1 = 2A_1 − A_2, B_2 = −A_1 + 2A_2 on patterns (2/3, 1/3), (1/3, 2/3) give the same logits",
    "the same",
    as_printed,
)
