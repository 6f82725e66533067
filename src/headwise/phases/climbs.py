"""Where the loss climbs: a training that is started over, a rate that is too large, data that changes, overfitting.

A climb is told by its size alone, and never by its cause, which a loss does not show. It begins at the lowest value so
far, and it is large when it takes back a fifth of what the loss has fallen until then and stands out of the noise; a
loss that had not fallen at all must climb by a twentieth of where it began. What lasts a single look is a spike and no
climb.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.phases.loss_source import NOISES, LossSource
from headwise.phases.rises import Interval, rise_interval
from headwise.phases.series import without_spikes

TAKES_BACK = 0.2
"""Share of what the loss has fallen that a climb takes back at least."""
OF_THE_START = 0.05
"""Share of its first value by which a loss climbs that had not fallen."""
IS_BACK = 0.1
"""A climb is over when no more than this share of it is left."""


@dataclass(frozen=True)
class Climb:
    """From `low` at step `start` to `high` at step `top`; `back` is when it was made up for, None where it was not."""

    start: float
    top: float
    low: float
    high: float
    interval: Interval
    back: float | None

    @property
    def sentence(self) -> str:
        """What a reader is told."""
        begun, done = self.interval
        when = f"between {begun:.4g} and {done:.4g}" if begun < done else f"at {begun:.4g}"
        after = "and does not come back" if self.back is None else f"and is back at {self.back:.4g}"
        return f"the loss climbs from {self.low:.3g} to {self.high:.3g} {when} {after}"


def find_climbs(source: LossSource) -> tuple[Climb, ...]:
    """Every large climb of a loss, in time order; none overlaps another."""
    steps, curve = source.series.steps, without_spikes(source.series.values[:, 0])
    found: list[Climb] = []
    i = 0
    while i < len(curve) - 1:
        low = i
        while low + 1 < len(curve) and curve[low + 1] <= curve[low]:
            low += 1
        below = np.flatnonzero(curve[low + 1 :] < curve[low])
        end = low + int(below[0]) if len(below) else len(curve) - 1
        if end > low and _large(curve, low, end, source.noise):
            found.append(_climb(steps, curve, low, end, measured=source.series.values[:, 0]))
        i = max(end, low + 1)
    return tuple(found)


def _large(curve: np.ndarray, low: int, end: int, noise: float) -> bool:
    """Whether the climb from look `low`, made up for after look `end`, is one to speak of."""
    climbed = float(curve[low : end + 1].max() - curve[low])
    fallen = float(curve[: low + 1].max() - curve[low])
    least = TAKES_BACK * fallen if fallen > NOISES * noise else OF_THE_START * abs(float(curve[0]))
    return climbed > max(least, NOISES * noise)


def _climb(steps: np.ndarray, curve: np.ndarray, low: int, end: int, *, measured: np.ndarray) -> Climb:
    top = low + int(np.argmax(curve[low : end + 1]))
    left = curve[top:] <= curve[low] + IS_BACK * (curve[top] - curve[low])
    back = top + np.flatnonzero(left)
    first = low + 1 + int(np.argmax(curve[low + 1 : top + 1] > (curve[low] + curve[top]) / 2))
    return Climb(
        start=float(steps[low]),
        top=float(steps[top]),
        low=float(measured[low]),
        high=float(measured[top]),
        interval=rise_interval(steps[low:], curve[low:], first - low, top - low),
        back=float(steps[back[0]]) if len(back) else None,
    )
