"""When a head takes something up: rises of a curve from nothing to a height that is held.

Held begins where the curve reaches `clear` and ends where it falls below `BEFORE`. The acquisition is the way from the
last look below `BEFORE` up to the height it keeps; what was held from the first look on was not acquired.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.zoo.truth.event import Value
from headwise.zoo.truth.numbers import ABSENT, BEFORE, HELD_LOOKS, RISE, SECOND_RISE


@dataclass(frozen=True)
class Rise:
    """`first` to `last` are the looks (indices) of the episode in which it is held; `begun`: where its rise begins."""

    value: Value
    start: float
    end: float
    first: int
    last: int
    begun: int


def find_rises(steps: np.ndarray, curve: np.ndarray, clear: float) -> list[Rise]:
    """Acquisitions along one curve, clear ones and borderline ones."""
    found = []
    for first, last in _episodes(curve):
        part = curve[first : last + 1]
        top = float(part.max())
        if top < ABSENT or (first == 0 and top < clear):
            continue
        held = part >= clear
        if first > 0 and _longest(held) >= HELD_LOOKS:
            found.append(_rise("clear", steps, curve, first, last))
        elif not (first == 0 and held[0]):
            found.append(Rise("borderline", *_around(steps, first, last), first, last, first))
        found += _second_rises(steps, curve, first, last)
    return found


def _episodes(curve: np.ndarray) -> list[tuple[int, int]]:
    """Stretches of looks at or above `BEFORE`."""
    above = np.concatenate([[False], curve >= BEFORE, [False]])
    edges = np.flatnonzero(np.diff(above.astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _rise(value: Value, steps: np.ndarray, curve: np.ndarray, first: int, last: int) -> Rise:
    """From 20 to 80 % of the way from the look before the episode to the episode's median height once clear."""
    low, part = float(curve[first - 1]), curve[first : last + 1]
    high = float(np.median(part[part >= 0.5 * part.max()]))
    low_level, high_level = (low + share * (high - low) for share in RISE)
    reached = first + int(np.argmax(part >= high_level))
    begun = reached
    while begun > 0 and curve[begun - 1] > low_level:
        begun -= 1
    return Rise(value, float(steps[max(begun - 1, 0)]), float(steps[reached]), first, last, max(begun - 1, 0))


def _second_rises(steps: np.ndarray, curve: np.ndarray, first: int, last: int) -> list[Rise]:
    """Dips within an episode that rise again: nobody could say whether that is one acquisition or two."""
    found, lowest, highest = [], first, first
    for look in range(first, last + 1):
        if curve[look] > curve[highest]:
            highest = lowest = look
        elif curve[look] < curve[lowest]:
            lowest = look
        elif curve[look] - curve[lowest] >= SECOND_RISE and curve[highest] - curve[lowest] >= SECOND_RISE:
            start, end = float(steps[highest]), float(steps[min(look + 1, len(steps) - 1)])
            found.append(Rise("borderline", start, end, lowest, look, lowest))
            highest = lowest = look
    return found


def _around(steps: np.ndarray, first: int, last: int) -> tuple[float, float]:
    return float(steps[max(first - 1, 0)]), float(steps[min(last + 1, len(steps) - 1)])


def _longest(flags: np.ndarray) -> int:
    """Length of the longest run of true values."""
    best = length = 0
    for flag in flags:
        length = length + 1 if flag else 0
        best = max(best, length)
    return best
