"""Drops of a loss without a known lower end: where it speeds up again after a slower stretch, and then slows down.

A curve that only slows down is convex and touches its greatest convex minorant, the tightest string below it,
everywhere. A plateau before a drop stands above that string. So each stretch of the string that the loss leaves by
enough (against the noise, against the fall along the stretch) holds a drop, which begins where the loss stands highest
above the string. Both sides of that place are searched again, because a large drop hides the smaller ones beside it.
The string is drawn below the logarithm of the loss above its lowest value, lifted by a share of its range, so that a
late small drop is not lost beside an early large one; that a drop speeds up is then checked on the loss itself.

Time is linear, never logarithmic: on a logarithmic axis every descent looks like a plateau and a drop. Noise is
estimated before anything is smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.ndimage import median_filter

from headwise.phases.config import Thresholds
from headwise.phases.rises import Interval, fall_interval
from headwise.phases.series import Series, without_spikes

FASTER = 1.05
"""A drop is faster than the stretch before it by this factor..."""
NOISES = 1.0
"""...beyond this many times what noise does to such rates..."""
SLOWER = 0.35
"""...and some stretch after it, at least half as long as the drop, is slower than the drop by this factor."""


BETWEEN = 1.75
"""Two drops are apart if the stretch between them is longer by this factor than either takes."""
LARGE = 3.0
"""A drop is larger by this factor than what a plateau must stand out by against the noise."""
ABOVE_ROUGH = 12.0
"""A drop is larger by this factor than the roughness of the loss around it."""
AROUND = 21
"""Looks over which roughness is taken."""
FAR_OFF = 10.0
"""A single look that is off both its neighbours by this many times the roughness around it is a spike."""
RISEN = 3.0
"""A drop is larger than anything the loss rose by until then, by this factor."""


@dataclass(frozen=True)
class Drop:
    """A fall of the loss between two slower stretches: `middle` of it, and the time from 20 to 80 % of it.

    `first` and `last` are the looks at which it begins and ends, `framed` is False while nothing shows that it ended,
    `apart` is False if it comes so soon after another one that both may be one.
    """

    middle: float
    interval: Interval
    first: int
    last: int
    framed: bool
    apart: bool = True


@dataclass(frozen=True, order=True)
class _Place:
    """Look at which a plateau ends; the stretch of string around it; how far the curve stands above it, per fall."""

    place: int
    left: int
    right: int
    height: float


def find_drops(series: Series, noise: float, thresholds: Thresholds) -> list[Drop]:
    """Drops in time order, of one curve (step,): those of the loss itself, and of its logarithm those beside them."""
    curve = without_spikes(spikes_bridged(series.steps, series.values))
    span = float(np.ptp(curve))
    if span == 0:
        return []
    lifted = curve - curve.min() + thresholds.lift * span
    found: list[Drop] = []
    for shape, error in ((curve, np.full(len(curve), noise)), (np.log(lifted), noise / lifted)):
        places = _places(series.steps, shape, error, 0, len(curve) - 1, thresholds)
        for drop in _drops(series.steps, curve, places, noise, thresholds):
            if all(drop.interval[1] < other.interval[0] or other.interval[1] < drop.interval[0] for other in found):
                found.append(drop)
    return _apart(sorted(_without_wobble(series.steps, series.values, curve, found), key=lambda drop: drop.middle))


def roughness(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How far each look lies off the line between its neighbours, as a standard deviation, the median of looks around.

    The loss on one and the same batch has no noise of measurement, but it wobbles with the optimiser, more so between
    looks that are far apart.
    """
    if len(values) < 3:
        return np.zeros(len(values))
    part = (steps[1:-1] - steps[:-2]) / (steps[2:] - steps[:-2])
    off = np.abs(values[1:-1] - (1 - part) * values[:-2] - part * values[2:])
    padded = np.pad(off, (1, 1), mode="edge")
    return np.asarray(median_filter(padded, size=AROUND, mode="nearest") / (0.6745 * np.sqrt(1.5)))


def spikes_bridged(steps: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The curve with every spike put on the line between its neighbours.

    A running median puts a spike on the value beside it, which on a falling curve makes a step where there was none.
    """
    if len(values) < 3:
        return values
    before, after = values[1:-1] - values[:-2], values[1:-1] - values[2:]
    off = np.minimum(np.abs(before), np.abs(after))
    far = (before * after > 0) & (off > FAR_OFF * roughness(steps, values)[1:-1])
    # The looks beside a spike may lie far off too, because of it: the furthest off is the spike.
    size = np.where(far, np.abs(before + after), 0.0)
    alone = far & (size > np.append(size[1:], 0.0)) & (size >= np.insert(size[:-1], 0, 0.0))
    good = np.concatenate([[True], ~alone, [True]])
    return np.asarray(np.interp(steps, steps[good], values[good]))


def _without_wobble(steps: np.ndarray, values: np.ndarray, curve: np.ndarray, drops: list[Drop]) -> list[Drop]:
    """The drops that stand out from the roughness around them; where several do not, from those too."""
    rough = roughness(steps, values)
    sizes = {drop: float(curve[drop.first] - curve[drop.last]) for drop in drops}
    clear = [drop for drop in drops if sizes[drop] >= ABOVE_ROUGH * rough[drop.first : drop.last + 1].max()]
    wobbles = [sizes[drop] for drop in drops if drop not in clear]
    if len(wobbles) < 2:
        return clear
    return [drop for drop in clear if sizes[drop] >= 2 * max(wobbles)]


def _apart(drops: list[Drop]) -> list[Drop]:
    """The drops, with those marked that follow another one within a few times the time that they take."""
    marked: list[Drop] = []
    for drop in drops:
        before = [other for other in marked if other.apart][-1:]
        near = any(
            drop.interval[0] - other.interval[1]
            < BETWEEN * max(drop.interval[1] - drop.interval[0], other.interval[1] - other.interval[0])
            for other in before
        )
        marked.append(replace(drop, apart=not near))
    return marked


def _drops(
    steps: np.ndarray, curve: np.ndarray, places: list[_Place], noise: float, thresholds: Thresholds
) -> list[Drop]:
    """The drops after these plateaus; where one does not slow down before the next, both are one."""
    best = {place.place: place for place in sorted(places, key=lambda place: place.height)}
    kept = [best[look] for look in sorted(best)]
    drops: list[Drop] = []
    while kept:
        ends = [*(place.place for place in kept[1:]), len(curve) - 1]
        drops = [_drop(steps, curve, place, end) for place, end in zip(kept, ends, strict=True)]
        joined = next((k for k, drop in enumerate(drops[:-1]) if not drop.framed), None)
        if joined is None:
            break
        del kept[joined if kept[joined].height < kept[joined + 1].height else joined + 1]
    return [
        drop
        for place, drop in zip(kept, drops, strict=True)
        if _large(curve, drop, noise, thresholds) and _faster(steps, curve, place, drop, noise)
    ]


def _places(
    steps: np.ndarray, curve: np.ndarray, noise: np.ndarray, first: int, last: int, thresholds: Thresholds
) -> list[_Place]:
    """Every look at which a plateau may end, between two looks."""
    found: list[_Place] = []
    for left, right in _string(steps, curve, first, last):
        if right - left < 3:
            continue
        chord = np.interp(steps[left : right + 1], steps[[left, right]], curve[[left, right]])
        above = curve[left : right + 1] - chord
        highest = int(np.argmax(above))
        height, fall = float(above[highest]), float(curve[left] - curve[right])
        if fall <= 0 or height < max(thresholds.noise * noise[left + highest], thresholds.speed_up * fall):
            continue
        place = left + highest
        found.append(_Place(place, left, right, height))
        found += _places(steps, curve, noise, left, place, thresholds)
        found += _places(steps, curve, noise, place, right, thresholds)
    return found


def _string(steps: np.ndarray, curve: np.ndarray, first: int, last: int) -> list[tuple[int, int]]:
    """Edges of the greatest convex minorant between two looks, as pairs of looks."""
    corners: list[int] = []
    for i in range(first, last + 1):
        while len(corners) > 1:
            a, b = corners[-2], corners[-1]
            if (curve[b] - curve[a]) * (steps[i] - steps[a]) < (curve[i] - curve[a]) * (steps[b] - steps[a]):
                break
            corners.pop()
        corners.append(i)
    return list(pairwise(corners))


def _drop(steps: np.ndarray, curve: np.ndarray, place: _Place, limit: int) -> Drop:
    """The drop after a plateau; it ends by the look `limit`, where the next plateau or the run ends."""
    begin, end = place.place, min(place.right, limit)
    level = (curve[begin] + curve[end]) / 2
    below = begin + int(np.flatnonzero(curve[begin : end + 1] <= level)[0])
    before = max(below - 1, begin)
    fall = float(curve[before] - curve[below])
    part = float((curve[before] - level) / fall) if fall > 0 else 1.0
    middle = float(steps[before] + part * (steps[below] - steps[before]))
    interval = fall_interval(steps, curve, begin, end)
    return Drop(middle, interval, begin, end, _slows_down(steps, curve, interval, limit))


def _slows_down(steps: np.ndarray, curve: np.ndarray, interval: Interval, limit: int) -> bool:
    """Whether some stretch between two looks after the drop is slower than the drop and long enough."""
    low, high = interval
    length = high - low
    rate = float(np.subtract(*np.interp([low, high], steps, curve))) / length
    for look in range(int(np.searchsorted(steps, high)), limit):
        until = min(float(steps[look]) + length, float(steps[limit]))
        if until - steps[look] < length / 2:
            break
        later = float(curve[look] - np.interp(until, steps, curve)) / (until - float(steps[look]))
        if later <= SLOWER * rate:
            return True
    return False


def _faster(steps: np.ndarray, curve: np.ndarray, place: _Place, drop: Drop, noise: float) -> bool:
    """Whether the loss itself falls faster in the drop than in the second half of the stretch before it."""
    half = (place.left + place.place) // 2
    if half == place.place:
        return False
    before = float(steps[place.place] - steps[half])
    low, high = drop.interval
    slow, fast = float(curve[half] - curve[place.place]), float(np.subtract(*np.interp([low, high], steps, curve)))
    error = NOISES * noise * (1 / before + 1 / (high - low))
    return fast / (high - low) - slow / before >= max((FASTER - 1) * slow / before, error)


def _large(curve: np.ndarray, drop: Drop, noise: float, thresholds: Thresholds) -> bool:
    """A drop falls by enough of what the loss has fallen by then, and is not one of many ups and downs."""
    fall = float(curve[drop.first] - curve[drop.last])
    until = curve[: drop.last + 1]
    so_far = float(until.max() - curve[drop.last])
    risen = float((until - np.minimum.accumulate(until)).max())
    return fall >= max(thresholds.smallest_drop * so_far, LARGE * thresholds.noise * noise, RISEN * risen)
