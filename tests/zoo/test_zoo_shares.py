"""Raw attention is reduced to what its definition says, by enumeration."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headwise.zoo.truth.shares import excess_shares, followers, induction_scores, lags_of
from tests.zoo.made import even, on_lag


def test_even_attention_has_no_excess_at_any_lag() -> None:
    np.testing.assert_allclose(excess_shares(even(2, 3, 9)), 0, atol=1e-12)


def test_even_attention_of_an_encoder_has_no_excess_either() -> None:
    np.testing.assert_allclose(excess_shares(torch.full((2, 3, 8, 8), 1 / 8, dtype=torch.float64)), 0, atol=1e-12)


@pytest.mark.parametrize("lag", [1, 3, 5])
def test_the_excess_of_a_lag_by_counting(lag: int) -> None:
    length = 8
    weights = on_lag(1, 1, length, lag=lag, share=0.7)
    share = sum(float(weights[0, 0, q, q + 1 - lag]) for q in range(lag - 1, length)) / length
    chance = sum(1 / (q + 1) for q in range(lag - 1, length)) / length
    found = excess_shares(weights)[0, list(lags_of(length)).index(lag)]
    assert found == pytest.approx((share - chance) / (1 - chance))


def test_followers_by_hand() -> None:
    marks = followers(torch.tensor([[5, 7, 5, 5, 7]]))[0]
    expected = {(2, 1), (3, 1), (3, 3), (4, 2)}
    assert {(int(q), int(k)) for q, k in marks.nonzero()} == expected


def test_a_head_that_attends_followers_scores_one_and_one_on_a_lag_nothing() -> None:
    rng = torch.Generator().manual_seed(0)
    period = torch.randint(4, 9, (40, 1), generator=rng)
    piece = torch.rand(40, 9, generator=rng).argsort(1)
    tokens = piece.gather(1, torch.arange(20)[None] % period)
    marks = followers(tokens).double()
    perfect = torch.where(
        marks.sum(-1, keepdim=True) > 0, marks / marks.sum(-1, keepdim=True).clamp(min=1), even(40, 1, 20)[:, 0]
    )
    assert induction_scores(perfect[:, None], tokens)[0] == pytest.approx(1)
    assert abs(induction_scores(on_lag(40, 1, 20, lag=6, share=0.9), tokens)[0]) < 1e-9


def test_without_copies_there_is_no_score() -> None:
    assert np.isnan(induction_scores(even(3, 2, 5), torch.arange(15).reshape(3, 5))).all()
