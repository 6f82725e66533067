"""How far a median over few seeds may be off: the percentile bootstrap, the same for reports and for verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

QUANTILES = (0.025, 0.975)
"""The ends of a 95 % interval."""


def median_interval(values: Sequence[float], *, resamples: int) -> tuple[float, float]:
    """A 95 % bootstrap interval of the median, from so many resamples; one value is its own interval.

    The draws begin at the same seed every time, so that the same values give the same interval.
    """
    array = np.asarray(values, dtype=float)
    if len(array) == 1:
        return float(array[0]), float(array[0])
    drawn = np.random.default_rng(0).integers(len(array), size=(resamples, len(array)))
    low, high = np.quantile(np.median(array[drawn], axis=1), QUANTILES)
    return float(low), float(high)
