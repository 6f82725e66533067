"""Pattern shares against known mixtures; supports found against the groups that made the attention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.phases.discovery import describe, find_patterns
from headwise.phases.patterns import ideal_patterns, pattern_shares

LAGS = list(range(1, 21))


def mixture(groups: list[list[int]], alpha: list[list[float]], weights: np.ndarray) -> np.ndarray:
    attention = np.full(len(LAGS), (1 - weights.sum()) / len(LAGS))
    for group, own, weight in zip(groups, alpha, weights, strict=True):
        for lag, a in zip(group, own, strict=True):
            attention[lag - 1] += weight * a / sum(own)
    return attention


@settings(max_examples=60, deadline=None)
@given(raw=st.lists(st.floats(0, 1), min_size=4, max_size=4), overlap=st.booleans())
def test_shares_are_the_weights_of_the_mixture(raw: list[float], overlap: bool) -> None:
    groups = [[1, 2, 3, 4], [3, 4, 5, 6], [5, 6, 7, 8]] if overlap else [[1, 2, 3], [4, 5], [9, 10, 11, 12]]
    alpha = [[1.0 + 0.3 * i for i in range(len(group))] for group in groups]
    weights = np.array(raw[:3]) / max(sum(raw), 1e-9)
    shares = pattern_shares(mixture(groups, alpha, weights), LAGS, ideal_patterns(groups, alpha))
    np.testing.assert_allclose(shares, weights, atol=1e-8)


def test_unfocused_causal_attention_copies_nothing() -> None:
    causal = np.mean([np.where(np.arange(20) < q, 1 / q, 0) for q in range(8, 21)], axis=0)
    shares = pattern_shares(causal, LAGS, ideal_patterns([[1, 2], [3, 4], [5, 6]], None))
    assert shares.max() < 0.02


def test_even_attention_over_lags_all_in_groups_copies_nothing() -> None:
    patterns = ideal_patterns([[1, 2], [3, 4]], None)
    np.testing.assert_allclose(pattern_shares(np.full(4, 0.25), [1, 2, 3, 4], patterns), 0, atol=1e-12)
    np.testing.assert_allclose(pattern_shares(np.array([0.5, 0.5, 0, 0]), [1, 2, 3, 4], patterns), [1, 0], atol=1e-12)


def wandering(groups: list[list[int]], alpha: list[list[float]]) -> np.ndarray:
    """Heads that start on the first group and then each settle on one, (step, head, lag)."""
    time = np.linspace(0, 1, 80)
    heads = []
    for k in range(len(groups)):
        moved = 1 / (1 + np.exp(-(time - 0.2 * (k + 1)) / 0.02)) if k else np.zeros_like(time)
        weights = np.zeros((len(time), len(groups)))
        weights[:, 0] = 0.85 * (1 - moved) * (1 - np.exp(-time / 0.03))
        weights[:, k] += 0.85 * moved
        heads.append([mixture(groups, alpha, row) for row in weights])
    return np.moveaxis(np.array(heads), 0, 1)


@pytest.mark.parametrize(
    "groups",
    [
        [[1, 2], [3, 4], [5, 6]],
        [[1], [2], [3]],
        [[13, 14], [9, 10, 11, 12], [1, 2, 3]],
        [[2, 5, 9], [1, 3], [4, 7, 8, 12]],
    ],
)
def test_found_supports_are_the_groups(groups: list[list[int]]) -> None:
    alpha = [[0.7, *[0.3] * (len(group) - 1)] for group in groups]
    found = find_patterns(wandering(groups, alpha), np.array(LAGS))
    assert {pattern.lags for pattern in found} == {tuple(sorted(group)) for group in groups}


def test_even_attention_has_no_pattern() -> None:
    assert find_patterns(np.full((30, 2, 20), 0.05), np.array(LAGS)) == []


def test_one_constant_pattern_is_found_without_its_weak_neighbours() -> None:
    row = mixture([[1, 2], [3, 4]], [[1, 1], [1, 1]], np.array([0.7, 0.12]))
    found = find_patterns(np.tile(row, (30, 3, 1)), np.array(LAGS))
    assert [pattern.lags for pattern in found] == [(1, 2)]


def test_found_patterns_are_read_as_given_ones() -> None:
    """Trained heads divide their attention within a group unevenly, each in its own way; that moves no crossing."""
    groups = [[1, 2], [3, 4], [5, 6]]
    one, other = wandering(groups, [[0.4, 0.6]] * 3), wandering(groups, [[0.55, 0.45]] * 3)
    attention = np.stack([one[:, 0], other[:, 1], one[:, 2]], axis=1)
    found = find_patterns(attention, np.array(LAGS))
    order = [next(i for i, p in enumerate(found) if set(p.lags) == set(group)) for group in groups]
    known = pattern_shares(attention, LAGS, ideal_patterns(groups, None))
    np.testing.assert_allclose(pattern_shares(attention, LAGS, found)[..., order], known, atol=1e-10)


BOTH_WAYS = list(range(2 - 20, 20 + 1))


def bidirectional(count: int, queries: range) -> np.ndarray:
    """Even attention over a sequence by lag, averaged over its queries, by counting."""
    shares = np.zeros(len(BOTH_WAYS))
    for query in queries:
        for key in range(count):
            shares[BOTH_WAYS.index(query + 1 - key)] += 1 / count / len(queries)
    return shares


SIGNED = [[[-1, 0], [2, 3]], [[0], [2]], [[-4], [-2, 3]], [[5, 6], [2]], [[-6, -5], [-3]]]


@pytest.mark.parametrize("groups", SIGNED)
def test_unfocused_attention_both_ways_copies_nothing(groups: list[list[int]]) -> None:
    shares = pattern_shares(bidirectional(20, range(20)), BOTH_WAYS, ideal_patterns(groups, None))
    assert shares.max() < 0.01


@pytest.mark.parametrize("groups", SIGNED)
@pytest.mark.parametrize("weights", [(0.8, 0.0), (0.0, 0.8), (0.4, 0.3)])
def test_shares_of_patterns_ahead_and_behind(groups: list[list[int]], weights: tuple[float, float]) -> None:
    attention = (1 - sum(weights)) * bidirectional(20, range(20))
    for group, weight in zip(groups, weights, strict=True):
        for lag in group:
            attention[BOTH_WAYS.index(lag)] += weight / len(group)
    shares = pattern_shares(attention, BOTH_WAYS, ideal_patterns(groups, None))
    np.testing.assert_allclose(shares, weights, atol=0.01)


def test_lags_ahead_that_nobody_sees_change_nothing() -> None:
    """A causal model recorded with signed lags reads as one recorded without them."""
    patterns = ideal_patterns([[1, 2], [4, 5]], None)
    attention = mixture([[1, 2], [4, 5]], [[1, 1], [1, 1]], np.array([0.5, 0.2]))
    padded = np.concatenate([np.zeros(19), attention])
    shares = pattern_shares(padded, BOTH_WAYS, patterns)
    np.testing.assert_allclose(shares, pattern_shares(attention, LAGS, patterns), atol=1e-12)


def test_what_stands_out_is_measured_against_what_a_query_sees() -> None:
    """A lag with twice the even share of 20 keys is no pattern, however many signed lags there are beside it."""
    attention = bidirectional(20, range(20))
    attention[BOTH_WAYS.index(2)] = 2 / 20
    assert find_patterns(np.tile(attention, (30, 2, 1)), np.array(BOTH_WAYS)) == []
    attention[BOTH_WAYS.index(0)] = 0.5
    (found,) = find_patterns(np.tile(attention, (30, 2, 1)), np.array(BOTH_WAYS))
    assert found.lags == (0,)


def test_describe() -> None:
    assert describe((1, 2, 3, 7)) == "1-3,7"
    assert describe((4,)) == "4"
