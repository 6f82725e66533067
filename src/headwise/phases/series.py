"""Curves made comparable: finite, free of single-evaluation spikes, and on an even grid of run time.

Everything downstream works on the unit interval of run time, which is what makes the readings indifferent to the unit
of time and nearly indifferent to the evaluation interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import median_filter

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
    """The despiked curves on `points` even times: means of the evaluations near each time, else interpolation.

    Averaging where evaluations are dense and interpolating where they are sparse keeps the noise of the result about
    the same when every second evaluation is dropped.
    """
    smooth = without_spikes(series.values)
    share = (series.steps - series.start) / series.length
    edges = np.linspace(0, 1, points)
    fine = np.linspace(0, 1, (points - 1) * _oversampling(share, points) + 1)
    curves = np.stack([np.interp(fine, share, column) for column in smooth.T], axis=1)
    factor = (len(fine) - 1) // (points - 1)
    if factor == 1:
        return curves
    kernel = np.ones(factor) / factor
    padded = np.pad(curves, ((factor, factor), (0, 0)), mode="edge")
    means = np.stack([np.convolve(column, kernel, mode="same") for column in padded.T], axis=1)
    return np.asarray(means[factor:-factor][:: factor][: len(edges)])


def _oversampling(share: np.ndarray, points: int) -> int:
    return int(np.clip(np.ceil(len(share) / points), 1, 64))


def noise_level(values: np.ndarray) -> np.ndarray:
    """Standard deviation of the evaluation noise of each curve, from second differences (a trend does not count)."""
    if len(values) < 4:
        return np.zeros(values.shape[1:])
    second = values[2:] - 2 * values[1:-1] + values[:-2]
    return np.asarray(np.median(np.abs(second), axis=0) / (0.6745 * np.sqrt(6)))


def crossing(times: np.ndarray, curve: np.ndarray, level: float) -> float | None:
    """The middle of the first and the last upward passage of `level`, interpolated; None if it is never passed.

    A noisy passage crosses several times; their middle is unbiased, the first one is early.
    """
    above = curve >= level
    ups = np.flatnonzero(~above[:-1] & above[1:])
    if not len(ups):
        return None
    passages = []
    for i in (ups[0], ups[-1]):
        rise = curve[i + 1] - curve[i]
        passages.append(times[i] + (level - curve[i]) / rise * (times[i + 1] - times[i]))
    return float(np.mean(passages))
