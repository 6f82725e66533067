"""When each group is acquired: its attention and its feature, half-way, and how long the former takes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headwise.paper.head_stages import still_rising
from headwise.paper.quantities import group_shares

if TYPE_CHECKING:
    import xarray as xr

LEAST_RISE = 0.25
"""Share of attention that a group gains when it is acquired."""


@dataclass(frozen=True)
class Acquisition:
    """A group (counted from 1): half-way times of attention and feature, and the width of the former (steps)."""

    group: int
    attention: float
    value: float
    width: float

    def __str__(self) -> str:
        return (
            f"I({self.group}): attention at {self.attention:.0f} (width {self.width:.0f}), feature at {self.value:.0f}"
        )


def acquisitions(trajectory: xr.Dataset) -> list[Acquisition]:
    """All groups that are acquired at all, in order of their attention.

    A group's attention is the largest share that any head has on it. Its feature is the coefficient of the head that
    ends there; that of the first group is shared by all heads while they compete, so their sum counts. Both are timed
    at the last time that they rise through half of the way from the first to the last value: features that tokens
    elsewhere carry may come and go before. The group that comes first is timed on its way to where it is when the
    second comes: heads that stay go on sharpening when others have left. The width is the time from three to five
    eighths of the way, doubled, which on a straight rise is that from a quarter to three quarters.
    """
    shares = group_shares(trajectory)
    values = trajectory["value_coefficient"].transpose("step", "block", "head", "group").values
    values = values.reshape(values.shape[0], -1, values.shape[-1])
    steps = trajectory["step"].values.astype(float)

    def timed(k: int, until: int) -> Acquisition | None:
        attention = shares[:until, :, k].max(1)
        value = values[:until, :, k].sum(1) if k == 0 else values[:until, int(shares[-1, :, k].argmax()), k]
        if attention[-1] - attention[0] < LEAST_RISE:
            return None
        times = [_last_rise(steps, attention, part) for part in (0.375, 0.5, 0.625)]
        feature = _last_rise(steps, value, 0.5)
        if feature is None or times[0] is None or times[1] is None or times[2] is None:
            return None
        return Acquisition(k + 1, times[1], feature, 2 * (times[2] - times[0]))

    whole = [timed(k, len(steps)) for k in range(shares.shape[-1])]
    found = sorted((one for one in whole if one is not None), key=lambda one: one.attention)
    if len(found) > 1:
        until = max(2, int(np.searchsorted(steps, found[1].attention)))
        found[0] = timed(found[0].group - 1, until) or found[0]
    return found


def still_coming(trajectory: xr.Dataset, found: list[Acquisition]) -> bool:
    """Whether attention on a group that is not acquired is still rising when the run ends."""
    missing = set(range(trajectory.sizes["group"])) - {one.group - 1 for one in found}
    largest = group_shares(trajectory).max(1)
    return any(still_rising(largest[:, k]) for k in missing)


def separations(found: list[Acquisition]) -> list[float]:
    """Time between neighbouring acquisitions over the longer of their widths."""
    return [
        (later.attention - earlier.attention) / max(earlier.width, later.width, 1e-12)
        for earlier, later in itertools.pairwise(found)
    ]


def _last_rise(steps: np.ndarray, curve: np.ndarray, part: float) -> float | None:
    """The last time a curve rises through a part of the way from its first to its last value; `None` if it falls."""
    level = float(curve[0]) + part * float(curve[-1] - curve[0])
    below = np.flatnonzero(curve < level)
    if curve[-1] <= curve[0] or not len(below) or below[-1] == len(curve) - 1:
        return None
    i = int(below[-1])
    share = (level - curve[i]) / (curve[i + 1] - curve[i])
    return float(steps[i] + share * (steps[i + 1] - steps[i]))
