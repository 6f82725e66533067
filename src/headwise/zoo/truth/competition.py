"""All heads of a block are on the same lag for a while, and then somebody leaves it.

Clear: the same lag is the largest of every head, with a clear share, for several looks and a good part of the time so
far, and at least one head clearly leaves it afterwards. A lag that all heads share and nobody leaves is borderline: the
definition of the word does not decide it. A block of one head cannot compete.
"""

from __future__ import annotations

import numpy as np

from headwise.zoo.truth.event import Event, Value
from headwise.zoo.truth.numbers import (
    ABSENT,
    COMPETING,
    COMPETING_GROWTH,
    COMPETING_LOOKS,
    TOUCHING,
    TOUCHING_LOOKS,
)
from headwise.zoo.truth.shares import Shares


def find_competitions(shares: Shares, exchanges: list[Event]) -> list[Event]:
    """Competitions of all blocks; `exchanges` are the run's leavings and additions."""
    _, blocks, heads, lags = shares.excess_TNHL.shape
    if heads < 2:
        return []
    found = []
    for block in range(blocks):
        curves = shares.excess_TNHL[:, block]
        largest, least = curves.argmax(-1), curves.min(1)
        for index in range(lags):
            lag = int(shares.lags[index])
            alike = (largest == index).all(1)
            clear = [
                part
                for part in _stretches(alike & (least[:, index] >= COMPETING), COMPETING_LOOKS)
                if _growth(shares.steps, part) >= COMPETING_GROWTH and _left(exchanges, block + 1, lag, shares, part)
            ]
            touching = (alike & (least[:, index] >= TOUCHING)) | (least[:, index] >= ABSENT)
            unsure = [
                part
                for part in _stretches(touching, TOUCHING_LOOKS)
                if not any(part[0] <= one[1] and one[0] <= part[1] for one in clear)
            ]
            found += [_event("clear", shares, part, block=block + 1, lag=lag) for part in clear]
            found += [_event("borderline", shares, part, block=block + 1, lag=lag) for part in unsure]
    return found


def _event(value: Value, shares: Shares, part: tuple[int, int], *, block: int, lag: int) -> Event:
    start, end = (float(shares.steps[look]) for look in part)
    return Event("competition", value, start, end, block, 0, lag)


def _left(exchanges: list[Event], block: int, lag: int, shares: Shares, part: tuple[int, int]) -> bool:
    """Whether some head clearly leaves this lag, not before the stretch begins."""
    begun = float(shares.steps[part[0]])
    return any(
        one.what == "leaving" and one.clear and one.block == block and one.old_lag == lag and one.end >= begun
        for one in exchanges
    )


def _growth(steps: np.ndarray, part: tuple[int, int]) -> float:
    return float((steps[part[1]] + 1) / (steps[part[0]] + 1))


def _stretches(flags: np.ndarray, shortest: int) -> list[tuple[int, int]]:
    """First and last index of every run of true values that is long enough."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(a), int(b) - 1) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= shortest]
