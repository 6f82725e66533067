"""Feature laws: norms, cosines and the uniformity of the Haar draw."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from headwise.task import TaskConfig, build_task
from headwise.task.config import importance
from headwise.task.features import equicorrelation_root, frobenius_gram, haar_orthogonal

sizes = st.tuples(st.integers(2, 8), st.integers(1, 4))


def features_of(law: str, d: int, h: int, *, seed: int, correlation: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    config = TaskConfig.model_validate(
        {"d": d, "w": h, "h": h, "features": law, "correlation": correlation, "m": 1.3, "b0": 2.0}
    )
    return build_task(config, seed).features, np.array(importance(config))


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 1000))
def test_haar_features_are_orthogonal_with_spectral_norm_m(size: tuple[int, int], seed: int) -> None:
    d, h = size
    features, m = features_of("haar", d, h, seed=seed)
    for a, norm in zip(features, m, strict=True):
        np.testing.assert_allclose(a @ a.T, norm**2 * np.eye(d), rtol=0, atol=1e-12 * norm**2)
        np.testing.assert_allclose(np.linalg.norm(a, 2), norm, rtol=1e-12)


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 1000))
def test_frobenius_features_are_orthogonal_with_the_norms_of_haar(size: tuple[int, int], seed: int) -> None:
    d, h = size
    features, m = features_of("frobenius", d, h, seed=seed)
    np.testing.assert_allclose(frobenius_gram(features), np.diag(m**2 * d), rtol=0, atol=1e-11 * m[0] ** 2 * d)


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 1000), st.floats(-0.3, 0.95))
def test_correlated_features_have_the_chosen_cosine(size: tuple[int, int], seed: int, cosine: float) -> None:
    d, h = size
    features, m = features_of("correlated", d, h, seed=seed, correlation=cosine)
    norms = np.sqrt(np.diag(frobenius_gram(features)))
    np.testing.assert_allclose(norms, m * np.sqrt(d), rtol=1e-12)
    cosines = frobenius_gram(features) / np.outer(norms, norms)
    np.testing.assert_allclose(cosines, np.where(np.eye(h, dtype=bool), 1.0, cosine), rtol=0, atol=1e-12)


def test_orthogonality_survives_linearly_dependent_draws() -> None:
    """Three or four orthogonal 2 x 2 matrices are often dependent: rotations span two dimensions only."""
    dependent = 0
    for seed in range(20):
        haar, _ = features_of("haar", 2, 4, seed=seed)
        dependent += np.linalg.matrix_rank(haar.reshape(4, 4)) < 4
        features, m = features_of("frobenius", 2, 4, seed=seed)
        np.testing.assert_allclose(frobenius_gram(features), np.diag(m**2 * 2), rtol=0, atol=1e-11 * m[0] ** 2)
    assert dependent > 0


def test_frobenius_features_stay_close_to_haar_ones() -> None:
    """At d = 50 Haar draws overlap by about 1/d, and removing that hardly changes them."""
    haar, m = features_of("haar", 50, 3, seed=0)
    orthogonal, _ = features_of("frobenius", 50, 3, seed=0)
    assert 0 < np.abs(frobenius_gram(haar) / (np.outer(m, m) * 50) - np.eye(3)).max() < 0.1
    singular = np.linalg.svd(orthogonal / m[:, None, None], compute_uv=False)
    assert np.abs(singular - 1).max() < 0.1


def test_equicorrelation_root_is_the_symmetric_root() -> None:
    root = equicorrelation_root(4, -0.2)
    np.testing.assert_allclose(root, root.T, rtol=0, atol=1e-15)
    np.testing.assert_allclose(root @ root, np.full((4, 4), -0.2) + 1.2 * np.eye(4), rtol=0, atol=1e-14)


def test_haar_draws_are_uniform() -> None:
    """Against SciPy's own sampler: traces (which see a wrong sign convention of QR) and entries have the same law."""
    rng = np.random.default_rng(0)
    ours = np.stack([haar_orthogonal(3, rng) for _ in range(4000)])
    theirs = stats.ortho_group.rvs(3, size=4000, random_state=np.random.default_rng(1))
    trace = stats.ks_2samp(np.trace(ours, axis1=1, axis2=2), np.trace(theirs, axis1=1, axis2=2))
    assert trace.pvalue > 1e-4
    assert stats.ks_2samp(ours[:, 0, 0], theirs[:, 0, 0]).pvalue > 1e-4
    assert abs((np.linalg.det(ours) > 0).mean() - 0.5) < 0.04
