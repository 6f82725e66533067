"""How long a rise or a fall takes: from 20 to 80 % of it, widened to whole looks.

A change of attention often lasts a tenth of the run and more, so its time is an interval. What happened between two
looks was not seen: the interval reaches from the last look before the first fifth to the first look after the fourth.
"""

from __future__ import annotations

import numpy as np

Interval = tuple[float, float]

BEGUN, DONE = 0.2, 0.8


def rise_interval(steps: np.ndarray, curve: np.ndarray, first: int, last: int) -> Interval:
    """The rise of a curve to its height in looks `first` to `last`, from its lowest point before them.

    A curve that is up at the first look of all has risen before anybody looked: the interval is that look.
    """
    if first == 0:
        return float(steps[0]), float(steps[0])
    lowest = first - 1
    while lowest > 0 and curve[lowest - 1] <= curve[first]:
        lowest -= 1
    base, top = float(curve[lowest:first].min()), float(curve[first : last + 1].max())
    before = np.flatnonzero(curve[:first] <= base + BEGUN * (top - base))
    begun = int(before[-1]) if len(before) else 0
    reached = begun + np.flatnonzero(curve[begun : last + 1] >= base + DONE * (top - base))
    done = int(reached[0]) if len(reached) else last
    return float(steps[begun]), float(steps[max(done, first)])


def fall_interval(steps: np.ndarray, curve: np.ndarray, high: int, low: int) -> Interval:
    """The fall of a curve from look `high` to its lowest by look `low`."""
    piece = curve[high : low + 1]
    top, bottom = float(piece[0]), float(piece.min())
    lowest = int(np.argmin(piece))
    above = np.flatnonzero(piece[: lowest + 1] >= top - BEGUN * (top - bottom))
    begun = int(above[-1]) if len(above) else 0
    below = begun + np.flatnonzero(piece[begun:] <= top - DONE * (top - bottom))
    done = int(below[0]) if len(below) else len(piece) - 1
    return float(steps[high + begun]), float(steps[high + done])


def hull(*intervals: Interval) -> Interval:
    """The smallest interval around all of these."""
    return min(low for low, _ in intervals), max(high for _, high in intervals)
