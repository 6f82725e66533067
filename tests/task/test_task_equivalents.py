"""App. A: equivalent decompositions give one law, and a decomposition of another law is told apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from brute_force_task import softmax
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.core.errors import ConfigError
from headwise.task import Decomposition, TaskConfig, build_task, decomposition_of, mixed, permuted, same_law
from headwise.task.equivalents import law_distance, random_mixing


def law(decomposition: Decomposition) -> np.ndarray:
    """Probabilities of every context by plain sums over heads, shape (d^w, d)."""
    features, weights = decomposition.features, decomposition.weights
    d, w = features.shape[1], weights.shape[1]
    rows = []
    for context in itertools.product(range(d), repeat=w):
        tokens = np.eye(d)[list(context)]
        rows.append(softmax(sum(a @ (alpha @ tokens) for a, alpha in zip(features, weights, strict=True))))
    return np.array(rows)


def random_decomposition(rng: np.random.Generator, *, d: int = 3, w: int = 3, h: int = 2) -> Decomposition:
    return Decomposition(rng.standard_normal((h, d, d)), rng.dirichlet(np.ones(w), size=h))


def test_the_papers_example() -> None:
    task = build_task(TaskConfig(d=4, w=2, h=2, b0=1.0), 0)
    a1, a2 = task.features
    sparse = decomposition_of(task)
    np.testing.assert_array_equal(sparse.weights, np.eye(2))
    dense = mixed(sparse, np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]]))
    np.testing.assert_allclose(dense.weights, [[2 / 3, 1 / 3], [1 / 3, 2 / 3]], rtol=0, atol=1e-15)
    np.testing.assert_allclose(dense.features, [2 * a1 - a2, -a1 + 2 * a2], rtol=0, atol=1e-13)
    assert same_law(sparse, dense)
    np.testing.assert_allclose(law(sparse), law(dense), rtol=0, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(1, 4))
def test_mixtures_and_permutations_give_identical_laws(seed: int, d: int, h: int) -> None:
    rng = np.random.default_rng(seed)
    original = random_decomposition(rng, d=d, w=3, h=h)
    other = mixed(original, random_mixing(h, rng))
    other = permuted(other, [int(k) + 1 for k in rng.permutation(h)])
    assert same_law(original, other)
    np.testing.assert_allclose(law(original), law(other), rtol=0, atol=1e-12)
    assert (other.weights >= 0).all()
    np.testing.assert_allclose(other.weights.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_a_full_size_task_has_equivalents_to_1e_12() -> None:
    sparse = decomposition_of(build_task(TaskConfig(), 0))
    dense = mixed(sparse, random_mixing(3, np.random.default_rng(0)))
    assert np.abs(dense.features - sparse.features).max() > 0.1
    assert law_distance(sparse, dense) < 1e-12
    assert same_law(sparse, dense)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(-9, 0))
def test_a_wrong_pair_is_told_apart(seed: int, exponent: int) -> None:
    """Even when the features are off by 1e-9 in one entry."""
    rng = np.random.default_rng(seed)
    original = random_decomposition(rng)
    features = original.features.copy()
    features[1, 0, 2] += 10.0**exponent
    assert not same_law(original, Decomposition(features, original.weights))


def test_transposed_mixing_is_a_wrong_pair() -> None:
    """B = M^{-1} A instead of M^{-T} A, the slip that a symmetric example such as the paper's cannot show."""
    original = random_decomposition(np.random.default_rng(0))
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    right = mixed(original, matrix)
    wrong = Decomposition(np.einsum("kl,lij->kij", np.linalg.inv(matrix), original.features), right.weights)
    assert same_law(original, right)
    assert not same_law(original, wrong)
    assert np.abs(law(original) - law(wrong)).max() > 1e-3
    swapped = Decomposition(original.features[::-1], original.weights)
    assert not same_law(original, swapped)


def test_what_a_softmax_cannot_see_does_not_count() -> None:
    rng = np.random.default_rng(0)
    original = random_decomposition(rng, d=3, w=2, h=2)
    constant_over_outputs = Decomposition(original.features + rng.standard_normal((2, 1, 3)), original.weights)
    assert same_law(original, constant_over_outputs)
    np.testing.assert_allclose(law(original), law(constant_over_outputs), rtol=0, atol=1e-12)
    # An output bias, the same for every token, may move from one pattern to the other.
    bias = rng.standard_normal((3, 1))
    moved = Decomposition(original.features + np.stack([bias + 0 * np.eye(3), -bias + 0 * np.eye(3)]), original.weights)
    assert same_law(original, moved)
    np.testing.assert_allclose(law(original), law(moved), rtol=0, atol=1e-12)
    kept = Decomposition(original.features + np.stack([bias + 0 * np.eye(3), np.zeros((3, 3))]), original.weights)
    assert not same_law(original, kept)


def test_the_distance_is_the_extreme_over_all_contexts() -> None:
    rng = np.random.default_rng(4)
    a, b = random_decomposition(rng), random_decomposition(rng, h=3)

    def centred(x: Decomposition) -> np.ndarray:
        logits = np.log(law(x))
        return logits - logits.mean(axis=1, keepdims=True)

    np.testing.assert_allclose(law_distance(a, b), np.abs(centred(a) - centred(b)).max(), rtol=1e-12)


def test_lags_without_weight_do_not_count() -> None:
    a = random_decomposition(np.random.default_rng(0), w=2)
    longer = Decomposition(a.features, np.concatenate([a.weights, np.zeros((2, 3))], axis=1))
    assert same_law(a, longer)
    assert same_law(longer, a)


@pytest.mark.parametrize(
    "matrix",
    [np.eye(3), np.array([[1.1, -0.1], [0.0, 1.0]]), np.array([[0.5, 0.4], [0.0, 1.0]]), np.full((2, 2), 0.5)],
    ids=["size", "negative", "rows", "singular"],
)
def test_matrices_that_cannot_mix_are_refused(matrix: np.ndarray) -> None:
    with pytest.raises(ConfigError, match="mixing matrix"):
        mixed(random_decomposition(np.random.default_rng(0)), matrix)


def test_shapes_that_do_not_fit_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ConfigError, match="permutation"):
        permuted(random_decomposition(rng), (1, 1))
    with pytest.raises(ConfigError, match="no common law"):
        same_law(random_decomposition(rng), random_decomposition(rng, d=4))
    with pytest.raises(ConfigError, match="a decomposition needs"):
        Decomposition(np.zeros((2, 3, 3)), np.zeros((3, 3)))
