"""Which looks keep their examples: at most so many, and those that tell most.

Nobody knows during training which looks will matter. So every look is kept at first, and when there is one too many,
the look goes whose maps lie nearest to what its two neighbours say about it. Where nothing changes the kept looks stay
evenly spread; the first and the last are always kept.
"""

from __future__ import annotations

import numpy as np

MOST = 12
"""Looks that are kept."""
OF_TIME = 0.02
"""What the time between a look's neighbours counts, as a share of the whole, beside a difference in attention."""


class KeptLooks:
    """Steps and maps, (..., head, query, key), in order of time; memory is that of `most` looks."""

    def __init__(self, most: int = MOST) -> None:
        self.most = max(2, most)
        self.steps: list[int] = []
        self.maps: list[np.ndarray] = []

    def add(self, step: int, maps: np.ndarray) -> None:
        """Keep a look, at the cost of the one that says least."""
        self.steps.append(step)
        self.maps.append(maps)
        if len(self.steps) > self.most:
            worth = [self._worth(look) for look in range(1, len(self.steps) - 1)]
            least = 1 + int(np.argmin(worth))
            del self.steps[least], self.maps[least]

    def _worth(self, look: int) -> float:
        """How far some head is from the straight line between its neighbours, in share of attention a query."""
        before, at, after = self.steps[look - 1 : look + 2]
        part = (at - before) / (after - before)
        line = (1 - part) * self.maps[look - 1] + part * self.maps[look + 1]
        moved = np.nan_to_num(np.abs(self.maps[look] - line)).sum(axis=-1).mean(axis=-1) / 2
        return float(moved.max(initial=0.0)) + OF_TIME * (after - before) / (self.steps[-1] - self.steps[0])
