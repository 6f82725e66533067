"""A drop of the validation loss between two flat stretches.

Flat: over 8 % of the run's steps the loss moves by at most 4 % of its range. What lies between two flat stretches is a
clear drop where it is large and much steeper than they are, and its middle is one fall rather than two. A fall at the
very start (no flat stretch before it) or at the very end is borderline.
"""

from __future__ import annotations

import numpy as np

from headwise.zoo.truth.event import Event, Value
from headwise.zoo.truth.numbers import (
    BORDERLINE_DROP,
    BORDERLINE_NATS,
    DROP,
    DROP_NATS,
    FLAT_FALL,
    FLAT_SPAN,
    ONE_DROP,
    RISE,
    STEEPER,
)

POINTS = 401
"""Points of even time on which the loss between looks is taken as straight lines."""


def find_boundaries(steps: np.ndarray, losses: np.ndarray) -> list[Event]:
    """Drops of a run, from the loss at each look."""
    if not np.isfinite(losses).all() or len(steps) < 5:
        return []
    time = np.linspace(float(steps[0]), float(steps[-1]), POINTS)
    loss = np.interp(time, steps, losses)
    extent = float(loss.max() - loss.min())
    flat = _flat(loss, FLAT_FALL * extent)
    found = []
    for first, last in _between(flat):
        fall = float(loss[first] - loss[last])
        if fall < max(BORDERLINE_DROP * extent, BORDERLINE_NATS):
            continue
        framed = first > 0 and last < POINTS - 1
        clear = framed and fall >= max(DROP * extent, DROP_NATS) and _steep(loss, first, last)
        value: Value = "clear" if clear else "borderline"
        start, end = _middle(loss, first, last) if clear else (first, last)
        found.append(Event("boundary", value, *_joined(steps, float(time[start]), float(time[end]))))
    return found


def _joined(steps: np.ndarray, start: float, end: float) -> tuple[float, float]:
    """From the last look before to the first one after: between looks nobody can know."""
    first, last = np.searchsorted(steps, start, "right") - 1, np.searchsorted(steps, end, "left")
    return float(steps[max(int(first), 0)]), float(steps[min(int(last), len(steps) - 1)])


def _flat(loss: np.ndarray, most: float) -> np.ndarray:
    """Which points lie in some window of the flat span in which the loss moves by at most `most`."""
    span = round(FLAT_SPAN * (POINTS - 1))
    windows = np.lib.stride_tricks.sliding_window_view(loss, span + 1)
    flat = np.zeros(POINTS, dtype=bool)
    for start in np.flatnonzero(windows.max(1) - windows.min(1) <= most):
        flat[start : start + span + 1] = True
    return flat


def _between(flat: np.ndarray) -> list[tuple[int, int]]:
    """Stretches that are not flat, each with the flat points next to it (the ends of the run where there are none)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[True], flat, [True]]).astype(int)))
    return [(max(int(a) - 1, 0), min(int(b), POINTS - 1)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _crossing(loss: np.ndarray, first: int, last: int, share: float) -> int:
    """First point at which this share of the fall is behind."""
    level = loss[first] - share * (loss[first] - loss[last])
    return first + int(np.argmax(loss[first : last + 1] <= level))


def _middle(loss: np.ndarray, first: int, last: int) -> tuple[int, int]:
    return _crossing(loss, first, last, RISE[0]), _crossing(loss, first, last, RISE[1])


def _steep(loss: np.ndarray, first: int, last: int) -> bool:
    """Whether the middle of the drop is much steeper than both neighbours, and one fall."""
    start, end = _middle(loss, first, last)
    slope = (loss[start] - loss[end]) / max(end - start, 1)
    span = round(FLAT_SPAN * (POINTS - 1))
    before, after = loss[max(first - span, 0) : first + 1], loss[last : last + span + 1]
    slowest = max(abs(float(part[0] - part[-1])) / max(len(part) - 1, 1) for part in (before, after))
    thirds = [_crossing(loss, first, last, share) for share in np.linspace(RISE[0], RISE[1], 4)]
    lengths = np.maximum(np.diff(thirds), 1)
    return bool(slope >= STEEPER * slowest and lengths.max() <= ONE_DROP * lengths.min())
