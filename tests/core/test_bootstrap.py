"""The bootstrap interval of a median, against every possible resample."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from headwise.core.bootstrap import median_interval


@pytest.mark.parametrize("values", [[1.0, 5.0, 20.0], [3.0, -1.0, 2.0, 40.0], [2.0, 2.0, 7.0, 7.0]])
def test_interval_against_enumeration(values: list[float]) -> None:
    medians = [float(np.median(draw)) for draw in itertools.product(values, repeat=len(values))]
    low, high = np.quantile(medians, [0.025, 0.975])
    assert median_interval(values, resamples=20000) == pytest.approx((low, high))


def test_one_value_is_its_own_interval() -> None:
    assert median_interval([3.0], resamples=1000) == (3.0, 3.0)


def test_the_same_values_give_the_same_interval() -> None:
    values = np.random.default_rng(5).normal(size=9).tolist()
    assert median_interval(values, resamples=1000) == median_interval(values, resamples=1000)
    low, high = median_interval(values, resamples=1000)
    assert min(values) <= low <= np.median(values) <= high <= max(values)
