"""§2.2: (M⁻¹Q, MᵀK) in place of (Q, K) leaves attention unchanged, a permutation of the heads the output."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, identity, relative_error


def transformed(m: Array, q: Array, k: Array, x: Array) -> Array:
    """Attention scores of every head with (M⁻¹Q, MᵀK) in place of (Q, K)."""
    return np.asarray(np.einsum("ia,hji,hjk,kb->hab", x, m.T @ k, np.linalg.inv(m) @ q, x))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(trials):
        n, length = 5, 6
        q, k, x = rng.standard_normal((3, n, n)), rng.standard_normal((3, n, n)), rng.standard_normal((n, length))
        m = rng.standard_normal((n, n)) + 3 * np.eye(n)
        scores = np.einsum("ia,hji,hjk,kb->hab", x, k, q, x)
        errors.append(relative_error(scores, transformed(m, q, k, x)))
        values = rng.standard_normal((3, n, n))
        order = rng.permutation(3)
        plain = np.einsum("hij,ja,hab->ib", values, x, scores)
        errors.append(relative_error(plain, np.einsum("hij,ja,hab->ib", values[order], x, scores[order])))
    return identity(errors)


STATEMENT = Statement(
    "symmetry",
    "§2.2, symmetries",
    "(M⁻¹Q_k, MᵀK_k) and permutations of heads leave the model unchanged",
    "the same",
    as_printed,
)
