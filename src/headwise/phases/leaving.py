"""Leaving means leaving: what a head does with its old pattern when it takes up a new one (§2.3).

The old pattern is the one that was the head's largest until then. If it falls by `fallen` of its height the head has
left it, an *offshoot*. If it falls by less than `shaken` the head has kept it and *adds* the new one. In between nobody
can tell. Patterns that a head takes up at about the same time are no event, unless the larger one is left for the
smaller one later. What a head held before it returns to, and that is no event either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headwise.core.events import Offshoot
from headwise.phases.config import Thresholds
from headwise.phases.heads import Hold, dwell_from
from headwise.phases.patterns import Pattern
from headwise.phases.rises import Interval, fall_interval, hull
from headwise.phases.series import Series

BEGUN_TO_FALL = 0.1
"""A head leaves once its old pattern has lost this share of its height and it holds the new one."""

FEWEST_LOOKS = 2
"""Looks for which a pattern must have been the largest."""
HIGH = 0.8
"""A pattern's height is this quantile of its share until a new one rises."""

Kind = Literal["leaves", "adds", "cannot tell"]


@dataclass(frozen=True)
class Change:
    """A head takes up a pattern while it has another one: `fall` is how much of the old one's height is lost.

    `reason` says why one cannot tell what it is, where that is so.
    """

    kind: Kind
    event: Offshoot
    fall: float
    reason: str = ""


def find_changes(
    series: Series, holds: Sequence[Hold], patterns: Sequence[Pattern], thresholds: Thresholds, block: int
) -> list[Change]:
    """Every pattern that a head of this block takes up after another one, in time order."""
    changes = [
        change
        for head in sorted({hold.head for hold in holds})
        for change in _of_head(series, [h for h in holds if h.head == head], patterns, thresholds, block)
    ]
    return sorted(changes, key=lambda change: (change.event.step, change.event.head))


def _of_head(
    series: Series, holds: list[Hold], patterns: Sequence[Pattern], thresholds: Thresholds, block: int
) -> list[Change]:
    ordered = sorted(holds, key=lambda hold: hold.start)
    found = []
    for i, new in enumerate(ordered):
        if any(h.pattern == new.pattern for h in ordered[:i]):
            continue
        earlier = [h for h in ordered[:i] if new.start - h.start > _together(series, h, thresholds)]
        if not earlier:
            found += [
                change
                for other in ordered[:i]
                for old, kept in ((other, new), (new, other))
                if (change := _outgrown(series, old, kept, patterns, thresholds, block)) is not None
            ]
            continue
        old = _largest(series, earlier, new)
        until = next((h.first for h in ordered[i + 1 :] if h.pattern not in (old.pattern, new.pattern)), None)
        end = new.last if until is None else max(new.first, min(new.last, until))
        found.append(_change(series, old, new, end, patterns, thresholds, block))
    return found


def _together(series: Series, hold: Hold, thresholds: Thresholds) -> float:
    """How soon after this one another pattern counts as taken up with it."""
    return min(dwell_from(series, hold.start, thresholds), thresholds.log_time * (hold.start - series.start))


def _largest(series: Series, earlier: list[Hold], new: Hold) -> Hold:
    """The hold with the largest share just before the new one rises; of what is over, the last."""
    before = _look_before(series, new)
    going_on = [hold for hold in earlier if hold.last >= before]
    if not going_on:
        return max(earlier, key=lambda hold: hold.last)
    return max(going_on, key=lambda hold: float(series.values[before, hold.head - 1, hold.pattern]))


def _look_before(series: Series, new: Hold) -> int:
    """The last look before the new pattern rises."""
    return max(0, int(np.searchsorted(series.steps, new.interval[0], side="right")) - 1)


def _change(
    series: Series, old: Hold, new: Hold, end: int, patterns: Sequence[Pattern], thresholds: Thresholds, block: int
) -> Change:
    curve = series.values[:, new.head - 1, old.pattern]
    begun = max(old.first, new.first)
    top = _top(curve, old.first, begun)
    height = float(np.quantile(curve[old.first : begun + 1], HIGH))
    lowest = float(curve[new.first : end + 1].min())
    fall = 1 - max(lowest, 0.0) / height if height > 0 else 0.0
    kind: Kind = "leaves" if fall >= thresholds.fallen else "cannot tell" if fall >= thresholds.shaken else "adds"
    interval: Interval = new.interval
    step = new.start
    if kind == "leaves":
        low = new.first + int(np.argmin(curve[new.first : end + 1]))
        interval = hull(interval, fall_interval(series.steps, curve, top, max(low, top)))
        step = max(step, _passage(series, curve, top, height * (1 - BEGUN_TO_FALL)))
    reason = f"the old pattern loses {fall:.0%} of its height" if kind == "cannot tell" else ""
    event = Offshoot(step, new.head, patterns[old.pattern].label, patterns[new.pattern].label, block, interval)
    return Change(kind, event, fall, reason)


def _outgrown(
    series: Series, old: Hold, new: Hold, patterns: Sequence[Pattern], thresholds: Thresholds, block: int
) -> Change | None:
    """Of two patterns taken up together, the larger one left for the smaller one; None if that did not happen.

    The larger one must have been the larger for as long as competition lasts, and must have fallen for good.
    """
    mine, other = (series.values[:, new.head - 1, hold.pattern] for hold in (old, new))
    first, last = max(old.first, new.first), new.last
    if last <= first:
        return None
    ahead = mine[first : last + 1] >= other[first : last + 1]
    passed = first + int(np.argmin(ahead))
    if ahead.all() or ahead[passed - first :].any() or passed - first < FEWEST_LOOKS:
        return None
    age = old.start - series.start
    height = float(np.quantile(mine[first:passed], HIGH))
    fall = 1 - max(float(mine[passed : last + 1].min()), 0.0) / height
    if series.steps[passed] - old.start < thresholds.log_time * age or fall < thresholds.fallen:
        return None
    top = _top(mine, first, passed)
    low = passed + int(np.argmin(mine[passed : last + 1]))
    crossing = float(series.steps[passed - 1]), float(series.steps[passed])
    interval = hull(fall_interval(series.steps, mine, top, low), crossing)
    step = float(np.clip(_passage(series, mine, top, height * (1 - BEGUN_TO_FALL)), *interval))
    labels = patterns[old.pattern].label, patterns[new.pattern].label
    return Change("leaves", Offshoot(step, new.head, *labels, block, interval), fall)


def _top(curve: np.ndarray, first: int, begun: int) -> int:
    """The last look at about the old pattern's height before the new one rises."""
    piece = curve[first : begun + 1]
    return first + int(np.flatnonzero(piece >= (1 - BEGUN_TO_FALL) * np.quantile(piece, HIGH))[-1])


def _passage(series: Series, curve: np.ndarray, top: int, level: float) -> float:
    """When the old pattern first falls below the level, between two looks."""
    below = top + np.flatnonzero(curve[top:] < level)
    if not len(below) or below[0] == 0:
        return float(series.steps[0])
    i = int(below[0]) - 1
    part = float(np.clip((curve[i] - level) / (curve[i] - curve[i + 1]), 0, 1)) if curve[i] > curve[i + 1] else 1.0
    return float(series.steps[i] + part * (series.steps[i + 1] - series.steps[i]))
