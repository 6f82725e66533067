"""Proof of Prop. matrix: E[(Xv)(Xu)ᵀ] = ⟨v, u⟩I and E[vᵀXᵀQXu] = ⟨v, u⟩ tr Q under Assumption 1.

Averages are taken over all tokens of two finite populations that meet the assumption exactly: one sparse, ±√(dT) times
each unit vector of R^{d×T}, and one dense, the rows of a random orthogonal matrix times √(dT).
"""

from __future__ import annotations

import numpy as np

from headwise.task.features import haar_orthogonal
from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, identity, relative_error
from headwise.theory.statements.noise_assumption import population


def populations(rng: np.random.Generator, d: int, T: int) -> list[Array]:
    """Two populations X (n, d, T) of equally likely sequences with E[x_i x_jᵀ] = 1{i=j} I."""
    rows = np.sqrt(d * T) * haar_orthogonal(d * T, rng).reshape(d * T, d, T)
    return [population(d, T), np.concatenate([rows, -rows])]


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(trials):
        d, T = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        v, u, Q = rng.standard_normal(T), rng.standard_normal(T), rng.standard_normal((d, d))
        for x in populations(rng, d, T):
            outer = np.einsum("nat,t,nbu,u->ab", x, v, x, u) / len(x)
            form = np.einsum("t,nat,ab,nbu,u->", v, x, Q, x, u, optimize=True) / len(x)
            errors.append(relative_error(outer, (v @ u) * np.eye(d)))
            errors.append(abs(form - (v @ u) * np.trace(Q)) / (np.abs(v @ u) * np.abs(Q).sum()))
    return identity(errors)


STATEMENT = Statement(
    "moment-identities",
    "Proposition matrix, proof: moments",
    "E[(Xv)(Xu)ᵀ] = ⟨v, u⟩I and E[vᵀXᵀQXu] = ⟨v, u⟩ tr Q",
    "the same",
    as_printed,
)
