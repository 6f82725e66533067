"""Proof of Thm cooperative: ker Π̃(s') ⊆ ker Π(s'_(1)), also where attention vanishes on some positions.

Basis vectors of ker Π̃ come from the singular value decomposition and are put through Π(s'_(1)).
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import pi
from headwise.theory.statement import Outcome, Statement, identity
from headwise.theory.statements.cooperative_region import rest
from headwise.theory.statements.kernel import draw_sparse
from headwise.theory.statements.reduced_ascent import reduced_square


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    sizes, found = [0.0], 0
    for _ in range(5 * trials):
        s = draw_sparse(rng)
        _, values, rows = np.linalg.svd(reduced_square(s))
        basis = rows[values < 1e-15]
        found += len(basis)
        sizes += [float(np.linalg.norm(pi(rest(s)) @ v)) for v in basis]
    return identity(
        sizes,
        tolerance=1e-7,
        quantity="largest ‖Π(s'_(1))v‖ for a unit vector v of ker Π̃",
        evidence=f"{found} kernel vectors of {5 * trials} points of the simplex with entries that are exactly zero",
    )


STATEMENT = Statement(
    "kernel-inclusion",
    "Theorem cooperative, proof: kernel inclusion",
    "ker Π̃(s') ⊆ ker Π(s'_(1))",
    "the same",
    as_printed,
)
