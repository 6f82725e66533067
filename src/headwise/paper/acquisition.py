"""When each group is acquired: its attention and its feature, half-way and from a quarter to three quarters."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headwise.paper.head_stages import first_above, still_rising
from headwise.paper.quantities import group_shares

if TYPE_CHECKING:
    import xarray as xr


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

    A group's attention is the largest share any head has on it, its feature the sum over heads of the coefficients:
    heads that share a feature hold a part each. Both are timed on their way from the first value to the largest.
    """
    shares = group_shares(trajectory)
    values = trajectory["value_coefficient"].transpose("step", "block", "head", "group").values
    values = values.reshape(values.shape[0], -1, values.shape[-1]).sum(1)
    steps = trajectory["step"].values.astype(float)
    found = []
    for k in range(shares.shape[-1]):
        attention, value = shares[:, :, k].max(1), values[:, k]
        if attention.max() - attention[0] < 0.25 or value.max() - value[0] <= 0:
            continue
        quarter, half, three = (_rises(steps, attention, part) for part in (0.25, 0.5, 0.75))
        found.append(Acquisition(k + 1, half, _rises(steps, value, 0.5), three - quarter))
    return sorted(found, key=lambda one: one.attention)


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


def _rises(steps: np.ndarray, curve: np.ndarray, part: float) -> float:
    return first_above(steps, curve, float(curve[0]) + part * float(curve.max() - curve[0]))
