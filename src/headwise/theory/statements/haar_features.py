"""Assumption 2 and the features of §2.3: Haar matrices are only nearly Frobenius-orthogonal.

The cosine of two independent Haar matrices of size d has mean 0 and deviation 1/d, and ‖A_k‖_F = m_k √d, so the
Frobenius strengths of §3 are √d times the spectral ones of §2.
"""

from __future__ import annotations

import numpy as np

from headwise.task.features import haar_orthogonal
from headwise.theory.statement import Outcome, Statement, approximation, bound

SIZES = (8, 16, 50)


def cosines(rng: np.random.Generator, d: int, count: int) -> np.ndarray:
    """Cosines of independent pairs."""
    return np.array([np.sum(haar_orthogonal(d, rng) * haar_orthogonal(d, rng)) / d for _ in range(count)])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    worst = [float(np.abs(cosines(rng, d, 2 * trials)).max()) for d in SIZES]
    table = ", ".join(f"{w:.3f} for d = {d} (1/d = {1 / d:.3f})" for d, w in zip(SIZES, worst, strict=True))
    return approximation(worst, within=0.8, evidence=f"largest |⟨V_i*, V_j*⟩| {table}")


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """d² E[cos²] = 1 within four standard errors, and the norm √d to rounding."""
    excess = []
    count = max(200, 10 * trials)
    for d in SIZES[:2]:
        square = (d * cosines(rng, d, count)) ** 2
        excess.append(abs(square.mean() - 1) / (square.std() / np.sqrt(count)))
        excess.append(1e9 * abs(np.linalg.norm(haar_orthogonal(d, rng)) - np.sqrt(d)))
    return bound(excess, within=4.0, evidence=f"d² E[cos²] is 1 within {max(excess):.1f} standard errors; ‖A‖_F = m √d")


STATEMENT = Statement(
    "haar-features",
    "Assumption 2, with the features of §2.3",
    "the orthogonal feature matrices satisfy ⟨V_i*, V_j*⟩ = 1{i=j}",
    "Haar features do so up to cosines of deviation 1/d; ‖A_k‖_F = m_k √d",
    as_printed,
    as_corrected,
)
