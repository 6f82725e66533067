"""Where the loss climbs: a training that is started over, a rate that is too large, data that changes, overfitting.

A climb is told by its size alone, and never by its cause, which a loss does not show. It begins at the lowest value so
far, and it is large when it takes back a fifth of what the loss has fallen until then and stands out of the noise; a
loss that had not fallen at all must climb by a twentieth of where it began. What lasts a single look is a spike and no
climb, nor is it where a climb begins or ends. The top of a climb may last a single look too, as it does when a training
is started over and falls at once. It is told as it was measured, because it is not far above the looks beside it,
against the climb, or against the jump of the loss just there.
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
SPIKE = 0.5
"""A look is a spike if it is off what lasts around it by more than this share of the climb, and by more than what lasts
jumps the same way beside it."""


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
    curve = without_spikes(source.series.values[:, 0])
    found: list[Climb] = []
    i = 0
    while i < len(curve) - 1:
        low = i
        while low + 1 < len(curve) and curve[low + 1] <= curve[low]:
            low += 1
        below = np.flatnonzero(curve[low + 1 :] < curve[low])
        end = low + int(below[0]) if len(below) else len(curve) - 1
        if end > low and _large(curve, low, end, source.noise):
            found.append(_climb(source, curve, low, end))
        i = max(end, low + 1)
    return tuple(found)


def _large(curve: np.ndarray, low: int, end: int, noise: float) -> bool:
    """Whether the climb from look `low`, made up for after look `end`, is one to speak of."""
    climbed = float(curve[low : end + 1].max() - curve[low])
    fallen = float(curve[: low + 1].max() - curve[low])
    least = TAKES_BACK * fallen if fallen > NOISES * noise else OF_THE_START * abs(float(curve[0]))
    return climbed > max(least, NOISES * noise)


def _climb(source: LossSource, curve: np.ndarray, low: int, end: int) -> Climb:
    steps, measured = source.series.steps, source.series.values[:, 0]
    climbed = float(curve[low : end + 1].max() - curve[low])
    spike = _spikes(measured, curve, max(SPIKE * climbed, NOISES * source.noise))
    # At a spike the curve has what was measured at a look beside it: that one is where a climb begins or ends.
    while low > 0 and spike[low] and curve[low - 1] == curve[low]:
        low -= 1
    top = low + 1 + int(np.argmax(np.where(spike, curve[low], curve)[low + 1 : end + 1]))
    told = np.where(spike, curve, measured)
    left = curve[top:] <= curve[low] + IS_BACK * (curve[top] - curve[low])
    back = top + np.flatnonzero(left)
    first = low + 1 + int(np.argmax(curve[low + 1 : top + 1] > (curve[low] + curve[top]) / 2))
    return Climb(
        start=float(steps[low]),
        top=float(steps[top]),
        low=float(told[low]),
        high=float(told[top]),
        interval=rise_interval(steps[low:], curve[low:], first - low, top - low),
        back=float(steps[back[0]]) if len(back) else None,
    )


def _spikes(measured: np.ndarray, curve: np.ndarray, least: float) -> np.ndarray:
    """Which looks are off the curve without spikes by more than `least`, and by more than that jumps beside them."""
    before, after = np.append(curve[0], curve[:-1]), np.append(curve[1:], curve[-1])
    up, down = curve - np.minimum(before, after), np.maximum(before, after) - curve
    return np.asarray(np.abs(measured - curve) > np.maximum(np.where(measured > curve, up, down), least))
