"""Compensation: when a head leaves for a new feature, those that stay move against it (§3, App. D).

Read from the Gram-corrected value coefficients C = <V, V*> K^-1, because features that overlap by 1/d fake dips larger
than real ones. Each staying head is compared with its own value before the offshoot (the median over the stage the
offshoot ends), and depths are divided by what the leaving head gains on the new feature, so that runs compare. The
bottom is looked for from the middle of that stage on, because values move before attention does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwise.core.events import Offshoot
from headwise.phases.series import noise_level

NOISE_MARGIN = 5.0
"""A dip is deeper than this many standard deviations of the evaluation noise..."""
SMALLEST_DIP = 0.01
"""...and than this share of the leaver's gain."""


@dataclass(frozen=True)
class Dip:
    """One staying head: `depth` below its value before, in units of the leaver's gain (negative: against it).

    `step` is the deepest point, `duration` how long the curve stays below half the depth, `recovers` whether it comes
    back above half the depth before the run ends. A depth within evaluation noise is reported as 0 without a time.
    """

    head: int
    before: float
    depth: float
    step: float | None
    duration: float
    recovers: bool

    @property
    def in_words(self) -> str:
        """The dip as the end of a sentence."""
        if self.depth >= 0 or self.step is None:
            return "none beyond the noise"
        end = "and recovers" if self.recovers else "and stays there"
        return f"head {self.head} goes {self.depth:.2f} of the gain against it, deepest at {self.step:.4g}, {end}"


@dataclass(frozen=True)
class Compensation:
    """One offshoot: the deepest dip among the heads that stay, and each of them."""

    offshoot: Offshoot
    gain: float
    dips: tuple[Dip, ...]

    @property
    def deepest(self) -> Dip | None:
        return min(self.dips, key=lambda dip: dip.depth, default=None)


def find_compensation(
    steps: np.ndarray, coefficients: np.ndarray, offshoots: Sequence[Offshoot], groups: Sequence[object]
) -> list[Compensation]:
    """Dips for each offshoot from coefficients (step, head, group); `groups` names the last dimension."""
    noise = noise_level(coefficients)
    found = []
    for i, offshoot in enumerate(offshoots):
        if offshoot.target not in groups:
            continue
        group = list(groups).index(offshoot.target)
        since = max((other.step for other in offshoots[:i] if other.step < offshoot.step), default=float(steps[0]))
        until = min(
            (other.step for other in offshoots[i + 1 :] if other.step > offshoot.step), default=float(steps[-1])
        )
        earlier = (steps >= since) & (steps < offshoot.step)
        later = (steps >= offshoot.step) & (steps <= until)
        if not earlier.any() or not later.any():
            continue
        curve = coefficients[:, offshoot.head - 1, group]
        gain = float(curve[later].max()) - _before(steps, curve, since, offshoot.step)
        if gain <= 0:
            continue
        there = {other.head for other in offshoots[: i + 1] if other.target == offshoot.target}
        dips = [
            _dip(steps, coefficients[:, head, group], (since, offshoot.step, until), gain, noise[head, group], head + 1)
            for head in range(coefficients.shape[1])
            if head + 1 not in there
        ]
        found.append(Compensation(offshoot, gain, tuple(dips)))
    return found


def _before(steps: np.ndarray, curve: np.ndarray, since: float, start: float) -> float:
    """Median over the time before the offshoot, whatever the spacing of the evaluations in it."""
    return float(np.median(np.interp(np.linspace(since, start, 201), steps, curve)))


def _dip(
    steps: np.ndarray, curve: np.ndarray, times: tuple[float, float, float], gain: float, noise: float, head: int
) -> Dip:
    since, start, until = times
    before = _before(steps, curve, since, start)
    window = np.flatnonzero((steps >= (since + start) / 2) & (steps <= until))
    bottom = int(window[np.argmin(curve[window])])
    depth = float(curve[bottom]) - before
    if depth > -max(NOISE_MARGIN * noise, SMALLEST_DIP * gain):
        return Dip(head, before, max(depth, 0.0) / gain, None, 0.0, True)
    below = curve < before + depth / 2
    first, last = bottom, bottom
    while first > 0 and below[first - 1]:
        first -= 1
    while last < len(curve) - 1 and below[last + 1]:
        last += 1
    recovers = last < len(curve) - 1
    return Dip(head, before, depth / gain, float(steps[bottom]), float(steps[last] - steps[first]), recovers)
