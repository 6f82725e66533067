"""Decompositions of one law (paper App. A): the sum of Eq. 1 does not determine its groups and features.

For any invertible row-stochastic M, weights M alpha with features M^{-T} A give the same logits as alpha with A:
sum_k (M^{-T} A)_k (M alpha)_k = sum_k A_k alpha_k. So do permutations of the pairs. Training finds the sparse disjoint
decomposition among them; here they are generated and told apart from decompositions of another law.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwise.core.errors import ConfigError
from headwise.task.chain import Task, tabulate
from headwise.task.features import FloatArray

TOLERANCE = 1e-12


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Features (h, d, d) and, for each of them, weights over all lags (h, w); patterns may overlap."""

    features: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        features, weights = self.features.shape, self.weights.shape
        if len(features) != 3 or features[1] != features[2] or len(weights) != 2 or weights[0] != features[0]:
            raise ConfigError(f"a decomposition needs features (h, d, d) and weights (h, w), got {features}, {weights}")


def decomposition_of(task: Task) -> Decomposition:
    """The decomposition that the task was built from."""
    return Decomposition(task.features, task.weights)


def permuted(decomposition: Decomposition, order: Sequence[int]) -> Decomposition:
    """The same pairs of pattern and feature, in another order (a permutation of 1..h)."""
    if sorted(order) != list(range(1, len(decomposition.features) + 1)):
        raise ConfigError(f"order {tuple(order)} must be a permutation of 1..{len(decomposition.features)}")
    rows = [k - 1 for k in order]
    return Decomposition(decomposition.features[rows], decomposition.weights[rows])


def mixed(decomposition: Decomposition, matrix: FloatArray) -> Decomposition:
    """The equivalent decomposition with weights M alpha and features M^{-T} A, M invertible and row-stochastic.

    Rows that sum to one and are not negative keep the patterns what attention can represent; the identity of the
    logits needs only that M is invertible.
    """
    h = len(decomposition.features)
    if matrix.shape != (h, h) or (matrix < 0).any() or not np.allclose(matrix.sum(axis=1), 1.0, rtol=0, atol=1e-12):
        raise ConfigError(f"a mixing matrix must be {h} x {h}, not negative, with rows that sum to 1")
    if np.linalg.matrix_rank(matrix) < h:
        raise ConfigError("a mixing matrix must be invertible; two of its patterns coincide or depend on each other")
    flat = decomposition.features.reshape(h, -1)
    features = np.asarray(np.linalg.solve(matrix.T, flat), dtype=np.float64)
    return Decomposition(features.reshape(decomposition.features.shape), matrix @ decomposition.weights)


def random_mixing(h: int, rng: np.random.Generator) -> FloatArray:
    """A random invertible row-stochastic matrix, two thirds of the identity and one third of uniform rows.

    At least 2/3 on the diagonal bounds the rows of the inverse by 3, so that features never grow into large logits that
    cancel. The paper's example, rows (2/3, 1/3) and (1/3, 2/3), is the far end of this family.
    """
    return np.asarray((2.0 * np.eye(h) + rng.dirichlet(np.ones(h), size=h)) / 3.0)


def law_distance(first: Decomposition, second: Decomposition) -> float:
    """The largest difference of output-centred logits over all contexts and outputs: zero exactly for equal laws.

    A constant over outputs does not change a softmax, hence the centring; a constant may also move between lags, which
    the sum over lags accounts for. Every token may stand at every lag independently of the others, so the extreme over
    d^w contexts is a sum of extremes over tokens, and no context is enumerated. Log-probabilities differ by at most
    twice this distance.
    """
    difference = _centred_tables(first, second)
    highest = difference.max(axis=1).sum(axis=0)
    lowest = difference.min(axis=1).sum(axis=0)
    return float(max(highest.max(), -lowest.min()))


def same_law(first: Decomposition, second: Decomposition, *, tolerance: float = TOLERANCE) -> bool:
    """Whether two decompositions are the same chain, up to `tolerance` relative to the largest logit (at least 1).

    The scale includes the features before they are summed over heads, because that is where the rounding happens.
    """
    scale = max(1.0, *(float(np.abs(tabulate(np.abs(d.features), d.weights)).max()) for d in (first, second)))
    return law_distance(first, second) <= tolerance * scale


def _centred_tables(first: Decomposition, second: Decomposition) -> FloatArray:
    """Difference of the two lag tables (w, d, d), centred over outputs; a shorter one has zero weight further back."""
    if first.features.shape[1] != second.features.shape[1]:
        raise ConfigError(
            f"decompositions over {first.features.shape[1]} and {second.features.shape[1]} tokens have no common law"
        )
    order = max(first.weights.shape[1], second.weights.shape[1])
    tables = np.zeros((order, *first.features.shape[1:]))
    for sign, decomposition in ((1.0, first), (-1.0, second)):
        tables[: decomposition.weights.shape[1]] += sign * tabulate(decomposition.features, decomposition.weights)
    return np.asarray(tables - tables.mean(axis=2, keepdims=True))
