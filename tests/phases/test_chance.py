"""Chance of a lag against enumeration: even causal attention of every counted query, added up one by one."""

from __future__ import annotations

import numpy as np
import pytest
from phase_examples import three_stage_run

from headwise.core.trajectory import assemble
from headwise.phases.chance import chance_of_lags, even_attention, excess_share


@pytest.mark.parametrize("seen", [range(1, 17), range(6, 26), [3, 3, 9]])
def test_even_attention_is_that_of_an_even_attention_map(seen: list[int]) -> None:
    shares = np.zeros(30)
    for n in seen:
        row = np.zeros(30)
        row[:n] = 1 / n
        shares += row / len(seen)
    np.testing.assert_allclose(even_attention(list(seen), np.arange(1, 31)), shares)


def test_the_excess_of_even_attention_is_nothing_and_of_one_lag_alone_is_one() -> None:
    chance = even_attention(range(1, 9), range(1, 9))
    np.testing.assert_allclose(excess_share(chance, chance), 0)
    np.testing.assert_allclose(excess_share(np.ones(8), chance), 1)


def test_chance_is_read_then_derived_then_assumed() -> None:
    run = three_stage_run()
    np.testing.assert_allclose(chance_of_lags(run), 1 / 12)
    queries = run.assign_coords(query=[6, 7])
    expected = np.where(np.arange(1, 13) <= 6, (1 / 6 + 1 / 7) / 2, np.where(np.arange(1, 13) == 7, 1 / 14, 0))
    np.testing.assert_allclose(chance_of_lags(queries)[0, 0], expected)
    recorded = np.linspace(0.2, 0.01, 12)
    with_chance = queries.assign(lag_chance=(("step", "lag"), np.tile(recorded, (101, 1))))
    np.testing.assert_allclose(chance_of_lags(with_chance)[3, 0], recorded)


def test_lags_ahead_are_no_reason_for_less_chance() -> None:
    """Signed lags of a model that sees both ways: each side counts for itself."""
    attention = np.full((3, 1, 1, 9), 1 / 9)
    run = assemble({"attention_by_lag": attention}, {"step": [0, 1, 2], "lag": np.arange(-3, 6)})
    np.testing.assert_allclose(chance_of_lags(run), 0.2)
