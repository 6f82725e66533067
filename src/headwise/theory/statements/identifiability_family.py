"""App. A, general form: any invertible row-stochastic M of patterns has features B = M^{-T} A with the same logits.

The paper names the 2 × 2 case with a ≠ b; the transpose in M^{-T} is what makes it right for every h.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, identity, relative_error


def mixing(rng: np.random.Generator, h: int) -> Array:
    """A well-conditioned row-stochastic matrix."""
    while True:
        m = rng.dirichlet(np.ones(h), size=h)
        if np.linalg.cond(m) < 50:
            return m


def mixed_features(m: Array, a: Array) -> Array:
    """B = M^{-T} A."""
    return np.asarray(np.einsum("kl,lab->kab", np.linalg.inv(m).T, a))


def _errors(rng: np.random.Generator, trials: int, sizes: tuple[int, int]) -> Outcome:
    errors = []
    for _ in range(trials):
        h = int(rng.integers(*sizes))
        a, x, m = rng.standard_normal((h, 4, 4)), rng.standard_normal((h, 4)), mixing(rng, h)
        mixed = np.einsum("kab,kl,lb->a", mixed_features(m, a), m, x)
        errors.append(relative_error(np.einsum("kab,kb->a", a, x), mixed))
    return identity(errors)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, (2, 3))


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, (2, 7))


STATEMENT = Statement(
    "identifiability-family",
    "App. A, general form",
    "every invertible row-stochastic 2 × 2 matrix of patterns yields an equivalent representation",
    "for every h, with features B = M^{-T} A",
    as_printed,
    as_corrected,
)
