"""Assumption 2 beside the features of §2.3: random orthogonal matrices are only nearly orthogonal to each other.

Each of the matrices of §2.3 is orthogonal, and that is another property than Assumption 2, under which different ones
have inner product zero. The paper does not say that the first gives the second, so there is nothing to judge as
printed. The cosine of two independent Haar matrices of size d has mean 0 and deviation 1/d, and ‖A_k‖_F = m_k √d, so
the Frobenius strengths of §3 are √d times the spectral ones of §2.
"""

from __future__ import annotations

import numpy as np

from headwise.task.features import haar_orthogonal
from headwise.theory.statement import Outcome, Statement, bound

SIZES = (8, 16)
ERRORS = 4.0
"""Standard errors of the mean within which a moment is called equal."""


def cosines(rng: np.random.Generator, d: int, count: int) -> np.ndarray:
    """Cosines of independent pairs."""
    return np.array([np.sum(haar_orthogonal(d, rng) * haar_orthogonal(d, rng)) / d for _ in range(count)])


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """E[cos] is zero and d² E[cos²] = 1 within `ERRORS` standard errors, and the norm √d to rounding."""
    excess, norms, largest = [], [], []
    count = max(200, 10 * trials)
    for d in SIZES:
        found = cosines(rng, d, count)
        largest.append(float(np.abs(found).max()))
        for moment, expected in ((found, 0.0), ((d * found) ** 2, 1.0)):
            excess.append(float(abs(moment.mean() - expected) / (moment.std() / np.sqrt(count))))
        norms.append(float(abs(np.linalg.norm(haar_orthogonal(d, rng)) - np.sqrt(d))))
    table = ", ".join(f"{w:.2f} for d = {d}" for d, w in zip(SIZES, largest, strict=True))
    return bound(
        [*excess, *(norm * 1e9 * ERRORS for norm in norms)],
        within=ERRORS,
        quantity="standard errors by which a moment of the cosine is off",
        evidence=f"E[cos] is zero and d² E[cos²] is one within {max(excess):.1f} standard errors of {count} pairs; "
        f"‖A‖_F = m √d within {max(norms):.1g}; the largest cosine is {table}",
    )


STATEMENT = Statement(
    "haar-features",
    "Beside Assumption 2: the features of §2.3",
    "it is not said whether the features of §2.3 meet Assumption 2",
    "they do up to cosines of mean 0 and deviation 1/d; ‖A_k‖_F = m_k √d",
    None,
    as_corrected,
)
