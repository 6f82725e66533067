"""Proof of Prop. matrix: E[v₁ᵀXᵀQX] = tr(Q)v₁ᵀ, from u = e_i for all T positions; printed as v₁Xᵀ and for i in [d].

v₁ has T entries and Xᵀ is T × d, so the printed product v₁Xᵀ does not exist unless T = 1; and the index i counts
positions, of which there are T.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.statement import Outcome, Statement, bound, identity, relative_error
from headwise.theory.statements.moment_identities import populations


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """The product as it stands: a column of T entries times a T × d matrix."""
    undefined = 0
    for _ in range(trials):
        d, T = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        try:
            np.matmul(rng.standard_normal((T, 1)), rng.standard_normal((T, d)))
        except ValueError:
            undefined += 1
    return bound(
        [float(undefined)],
        within=0.0,
        quantity="number of instances in which the product v₁Xᵀ does not exist",
        evidence=f"undefined in {undefined} of {trials} instances",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(trials):
        d, T = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        v, Q = rng.standard_normal(T), rng.standard_normal((d, d))
        for x in populations(rng, d, T):
            row = np.einsum("t,nat,ab,nbu->u", v, x, Q, x, optimize=True) / len(x)
            errors.append(relative_error(row, np.trace(Q) * v))
    return identity(errors)


STATEMENT = Statement(
    "moment-vector",
    "Proposition matrix, proof: vector form",
    "with v₂ = e_i for i in [d]: E[v₁XᵀQX] = tr(Q)v₁",
    "with v₂ = e_i for i in [T]: E[v₁ᵀXᵀQX] = tr(Q)v₁ᵀ",
    as_printed,
    as_corrected,
    fault="typo",
)
