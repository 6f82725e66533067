"""A theory beside the flow with their clocks set alike: at the moment when the leaving head has learned half.

The theoretical start leaves its ε open, and another ε moves the whole curve in time. Here both are compared at equal
times before and after the moment when the leaving head delivers half of its feature, which needs no choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.flow.overlay import Overlay
from headwise.flow.simplex import Array

SHARED = 0.5
"""Least share of the compared times at which both curves must exist."""


@dataclass(frozen=True)
class Aligned:
    """Medians over time of the largest difference in attention and in alignment, and how far the theory was shifted."""

    attention: float
    value: float
    shift: float


def aligned_deviations(found: Overlay, *, strength: float, until: float) -> Aligned | None:
    """Compare up to `until`, the overlay reaching further.

    None where one of the two never learns half in it, and where fewer than `SHARED` of the times are common to both: a
    theory that is shifted out of the window is not near it.
    """
    n, head = found.stage - 1, found.leaver
    moments = [
        _rises_above(found.times, attention[:, head, n] * value[:, head, n], strength / 2)
        for attention, value in (
            (found.flow_attention, found.flow_alignment),
            (found.theory_attention, found.theory_alignment),
        )
    ]
    if moments[0] is None or moments[1] is None:
        return None
    shift = moments[0] - moments[1]
    seen = found.times <= until
    at = found.times[seen] - shift
    both = (at >= found.times[0]) & (at <= found.times[-1])
    if both.mean() < SHARED:
        return None
    attention = np.abs(found.flow_attention[seen][both] - _at(found.theory_attention, found.times, at[both]))
    value = np.abs(found.flow_alignment[seen][both] - _at(found.theory_alignment, found.times, at[both]))
    return Aligned(float(np.median(attention.max((1, 2)))), float(np.median(value.max((1, 2)))), float(shift))


def _rises_above(times: Array, values: Array, level: float) -> float | None:
    """The first time at which values pass a level, between two times by a straight line."""
    above = np.flatnonzero(values >= level)
    if len(above) == 0:
        return None
    k = int(above[0])
    if k == 0:
        return float(times[0])
    share = (level - values[k - 1]) / (values[k] - values[k - 1])
    return float(times[k - 1] + share * (times[k] - times[k - 1]))


def _at(values: Array, times: Array, wanted: Array) -> Array:
    """Arrays (t, H, n) at other times, between two times by a straight line."""
    flat = values.reshape(len(times), -1)
    columns = [np.interp(wanted, times, column) for column in flat.T]
    return np.stack(columns, axis=-1).reshape(len(wanted), *values.shape[1:])
