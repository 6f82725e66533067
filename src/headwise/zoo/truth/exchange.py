"""A head that holds one lag takes up another: it leaves the old one, or adds the new one to it.

Leaving is clear where the old lag was the head's largest when the new one began to rise, the head then loses at least
half of it for good, and fall and rise overlap in time. Adding is clear where the old lag never falls by more than 15 %.
Everything between is borderline for both, and so is an old or a new lag that was held, but not clearly or not in time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headwise.zoo.truth.event import Event, Value
from headwise.zoo.truth.lag import lag_rises
from headwise.zoo.truth.numbers import CLEAR_LAG, KEPT, LEFT, MAYBE_HELD, RISE
from headwise.zoo.truth.rises import Rise
from headwise.zoo.truth.shares import Shares


@dataclass(frozen=True)
class _Place:
    """Whose exchange it is, from which lag to which."""

    block: int
    head: int
    new: int
    old: int

    def event(self, what: Literal["leaving", "adding"], value: Value, start: float, end: float) -> Event:
        return Event(what, value, start, end, self.block, self.head, self.new, self.old)


def find_exchanges(shares: Shares) -> list[Event]:
    """Leavings and additions of all heads."""
    _, blocks, heads, _ = shares.excess_TNHL.shape
    found = []
    for block in range(blocks):
        for head in range(heads):
            for new, rise in lag_rises(shares, block, head):
                found += _exchange(shares, block, head, new, rise)
    return found


def _exchange(shares: Shares, block: int, head: int, new: int, rise: Rise) -> list[Event]:
    curves = shares.excess_TNHL[:, block, head]
    steps, others = shares.steps, np.delete(np.arange(len(shares.lags)), new)
    risen = int(np.searchsorted(steps, rise.end))
    held_before, taken = curves[: risen + 1, others].max(), curves[rise.first : rise.last + 1, new].max()
    if min(held_before, taken) < MAYBE_HELD:
        return []  # it held nothing before, or took up nothing
    held = curves[rise.begun, others]
    old = int(others[held.argmax()])
    place = _Place(block + 1, head + 1, int(shares.lags[new]), int(shares.lags[old]))
    if held.max() < CLEAR_LAG or rise.value == "borderline":
        return _both(place, rise.start, rise.end)
    height = float(curves[rise.begun, old])
    during = curves[rise.begun : rise.last + 1, old]
    lost, most_lost = 1 - float(during[-1]) / height, 1 - float(during.min()) / height
    if most_lost <= KEPT:
        return [place.event("adding", "clear", rise.start, rise.end)]
    start, end = _fall(steps[rise.begun : rise.last + 1], during)
    if lost >= LEFT and start <= rise.end and end >= rise.start:
        return [place.event("leaving", "clear", min(start, rise.start), max(end, rise.end))]
    return _both(place, min(start, rise.start), max(end, rise.end))


def _fall(steps: np.ndarray, curve: np.ndarray) -> tuple[float, float]:
    """Steps between which the curve goes through 20 to 80 % of its way to its last value."""
    way = (curve[0] - curve) / (curve[0] - curve[-1]) if curve[0] > curve[-1] else np.zeros(len(curve))
    if not (way >= RISE[1]).any():
        return float(steps[0]), float(steps[-1])
    gone = int(np.argmax(way >= RISE[1]))
    begun = gone
    while begun > 0 and way[begun - 1] > RISE[0]:
        begun -= 1
    return float(steps[max(begun - 1, 0)]), float(steps[gone])


def _both(place: _Place, start: float, end: float) -> list[Event]:
    """Whether it left or added cannot be said."""
    return [place.event("leaving", "borderline", start, end), place.event("adding", "borderline", start, end)]
