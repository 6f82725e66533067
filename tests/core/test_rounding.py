"""Rounding keeps what an interval determines and drops what it does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from headwise.core.rounding import decimals, rounded, with_interval


def test_rounding_is_finer_than_the_interval_and_not_much_finer() -> None:
    """Over many intervals: no end moves by more than half of half the width, and the last digit stands for a tenth of
    it at least.
    """
    random = np.random.default_rng(0)
    for _ in range(500):
        low = float(random.normal() * 10.0 ** random.integers(-2, 5))
        half = float(abs(random.normal()) * 10.0 ** random.integers(-4, 4) + 1e-4)
        places = decimals(low, low + 2 * half)
        assert places is not None
        unit = 10.0**-places
        assert half / 20 < unit <= half * (1 + 1e-6)
        if 1e-3 < abs(low) < 1e6:
            assert abs(float(rounded(low, places)) - low) <= unit / 2 * (1 + 1e-6)


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.38818, (0.33011, 0.45644), "0.39 (0.33 to 0.46)"),
        (0.29453, (0.25749, 0.29701), "0.295 (0.257 to 0.297)"),
        (331.0, (318.0, 352.0), "331 (318 to 352)"),
        (331.0, (120.0, 610.0), "300 (100 to 600)"),
        (1.42e-14, (1.42e-14, 1.42e-14), "1.4e-14"),
        (1e-5, (1e-6, 3e-4), "1.0e-5 (1.0e-6 to 3.0e-4)"),
        (0.0, (0.0, 0.0), "0"),
        (-0.034, (-0.071, -0.012), "-0.03 (-0.07 to -0.01)"),
        (-0.001, (-0.4, 0.4), "0.0 (-0.4 to 0.4)"),
        (0.17047, None, "0.17"),
    ],
)
def test_numbers_as_a_person_writes_them(value: float, interval: tuple[float, float] | None, text: str) -> None:
    assert with_interval(value, interval) == text


def test_what_is_not_finite_is_a_word() -> None:
    assert rounded(math.nan) == "nan"
    assert rounded(math.inf, 2) == "inf"
