"""Curves made comparable: finite, free of single-evaluation spikes, and on an even grid of run time.

Everything downstream works on the unit interval of run time, which is what makes the views indifferent to the unit
of time and nearly indifferent to the evaluation interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import median_filter, uniform_filter1d

SPIKE_WINDOW = 3


@dataclass(frozen=True)
class Series:
    """One or several curves over time: `values` is (evaluations, curves), `steps` strictly increasing."""

    steps: np.ndarray
    values: np.ndarray

    @property
    def start(self) -> float:
        return float(self.steps[0])

    @property
    def length(self) -> float:
        return float(self.steps[-1] - self.steps[0])

    def at(self, share: float) -> float:
        """The step at a share of the run."""
        return self.start + share * self.length


def finite_series(steps: np.ndarray, values: np.ndarray) -> tuple[Series, np.ndarray]:
    """The evaluations at which every curve is finite, in time order, and the steps that were left out."""
    columns = values.reshape(len(values), -1).astype(float)
    good = np.isfinite(columns).all(axis=1) & np.isfinite(steps)
    order = np.argsort(steps[good], kind="stable")
    kept, first = np.unique(steps[good][order], return_index=True)
    return Series(kept.astype(float), columns[good][order][first]), steps[~good]


def without_spikes(values: np.ndarray, width: int = SPIKE_WINDOW) -> np.ndarray:
    """Running median along time: removes what lasts less than half the window and keeps edges where they are."""
    if len(values) < width:
        return values
    size = (width,) + (1,) * (values.ndim - 1)
    return np.asarray(median_filter(values, size=size, mode="nearest"))


def on_grid(series: Series, points: int) -> np.ndarray:
    """The despiked curves at `points` even times, (points, curves).

    Where evaluations are denser than the grid each point averages those around it; elsewhere monotone cubics bridge
    them, which unlike straight lines leave a plateau flat up to a gap and put no corner into a drop.
    """
    smooth = without_spikes(series.values)
    share = (series.steps - series.start) / series.length
    factor = int(np.clip(np.ceil(len(share) / points), 1, 64))
    fine = np.linspace(0, 1, (points - 1) * factor + 1)
    curves = PchipInterpolator(share, smooth, axis=0)(fine)
    if factor > 1:
        curves = uniform_filter1d(curves, size=factor, axis=0, mode="nearest")[::factor]
    return np.asarray(curves)


def noise_level(values: np.ndarray) -> np.ndarray:
    """Standard deviation of the evaluation noise of each curve, from second differences (a trend does not count)."""
    if len(values) < 4:
        return np.zeros(values.shape[1:])
    second = values[2:] - 2 * values[1:-1] + values[:-2]
    return np.asarray(np.median(np.abs(second), axis=0) / (0.6745 * np.sqrt(6)))


def halfway(path: np.ndarray) -> float | None:
    """Where a path from about 0 to about 1 is halfway, as a fractional index; None if it never gets there.

    The mean time of its first passage through the levels between a quarter and three quarters: the middle of a ramp
    like the passage of one half, but with the noise of many levels averaged.
    """
    arrived = np.flatnonzero(path >= 0.75)
    if not len(arrived) or arrived[0] == 0:
        return None
    last = int(arrived[0])
    left = np.flatnonzero(path[:last] <= 0.25)
    first = int(left[-1]) if len(left) else 0
    behind = (0.75 - np.clip(path[first : last + 1], 0.25, 0.75)) / 0.5
    return float(first + (behind[1:] + behind[:-1]).sum() / 2)
