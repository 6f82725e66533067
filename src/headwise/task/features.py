"""Feature matrices A_1, ..., A_h (paper §2.3): how they are drawn and how they overlap.

Matrices are drawn by one of three laws, or given (`given_features.py`).

All three laws give feature k the Frobenius norm m_k sqrt(d), that of m_k times an orthogonal matrix, so that they
differ in their overlaps. Only `haar` fixes the spectral norm to m_k: matrices that are exactly Frobenius-orthogonal, or
correlated by a chosen amount, cannot in general be orthogonal matrices as well.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt

from headwise.core.errors import ConfigError
from headwise.task.config import DrawnFeatures, GivenFeatures, TaskConfig, group_lags, importance
from headwise.task.given_features import figures_matrices, file_matrices, frobenius_in_order, furthest_first

FloatArray = npt.NDArray[np.float64]


def draw_features(config: TaskConfig, rng: np.random.Generator) -> FloatArray:
    """The features of a task, shape (h, d, d); `A[k, output, token]`."""
    norms = np.asarray(importance(config), dtype=np.float64)[:, None, None]
    if config.features not in get_args(DrawnFeatures):
        return np.asarray(norms * given_units(config))
    orthogonal: FloatArray = np.stack([haar_orthogonal(config.d, rng) for _ in range(config.h)])
    if config.features == "haar":
        return np.asarray(norms * orthogonal)
    units = nearest_orthonormal(orthogonal)
    if config.features == "correlated":
        units = np.einsum("kl,lij->kij", equicorrelation_root(config.h, config.correlation), units)
    return np.asarray(norms * np.sqrt(config.d) * units)


def given_units(config: TaskConfig) -> FloatArray:
    """The given matrices in the order of the groups: the first belongs to the group that reaches furthest back."""
    if config.features in get_args(GivenFeatures):
        matrices = figures_matrices()
    else:
        if config.features_digest is None:
            raise ConfigError(f"task.features: {config.features} has not been read")
        matrices = file_matrices(config.features, config.features_digest)
    if config.features == "figures-frobenius":
        matrices = frobenius_in_order(matrices)
    if matrices.shape[1] != config.d or len(matrices) < config.h:
        raise ConfigError(f"task.features: {config.features} holds matrices of the shape {matrices.shape}")
    units = np.empty((config.h, config.d, config.d))
    for drawn, k in enumerate(furthest_first(group_lags(config))):
        units[k] = matrices[drawn]
    return units


def haar_orthogonal(size: int, rng: np.random.Generator) -> FloatArray:
    """A uniformly random orthogonal matrix: QR of a Gaussian one, with the signs that make the law uniform."""
    q, r = np.linalg.qr(rng.standard_normal((size, size)))
    return np.asarray(q * np.where(np.diagonal(r) < 0, -1.0, 1.0))


def nearest_orthonormal(matrices: FloatArray) -> FloatArray:
    """The set of Frobenius-orthonormal matrices nearest to the given directions, favouring none of them.

    This is Löwdin's symmetric orthogonalisation, taken from a singular value decomposition instead of the inverse root
    of the Gram matrix: the result is orthonormal to rounding even where the given matrices are linearly dependent, as
    three 2 x 2 rotations are.
    """
    count = len(matrices)
    left, _, right = np.linalg.svd(matrices.reshape(count, -1), full_matrices=False)
    return np.asarray((left @ right).reshape(matrices.shape))


def equicorrelation_root(count: int, correlation: float) -> FloatArray:
    """The symmetric square root of the matrix with ones on the diagonal and `correlation` everywhere else.

    Its rows mix orthonormal directions into unit vectors with that cosine. It exists for correlation > -1/(count - 1).
    """
    common = np.full((count, count), 1.0 / count)
    along, across = 1.0 + (count - 1) * correlation, 1.0 - correlation
    return np.asarray(np.sqrt(along) * common + np.sqrt(across) * (np.eye(count) - common))


def frobenius_gram(matrices: FloatArray) -> FloatArray:
    """Frobenius inner products of all pairs, shape (h, h)."""
    flat = matrices.reshape(len(matrices), -1)
    return np.asarray(flat @ flat.T)
