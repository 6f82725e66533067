"""Standard errors of attention by lag over the sequences of a batch, from running sums: memory O(heads × lags)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headwise.probe.role import Seen


class LagError:
    """Sequences are what is drawn at random: queries of one sequence are not independent of each other."""

    def __init__(self, *, heads: int, lags: int) -> None:
        self.lags = tuple(range(2 - lags, lags + 1))
        self._sum = np.zeros((heads, len(self.lags)))
        self._squares = np.zeros_like(self._sum)
        self._weighted = np.zeros_like(self._sum)
        self._count = self._count_squares = 0.0
        self._sequences = 0

    def add(self, seen: Seen) -> None:
        """One layer of one pass."""
        nearest = len(self.lags) // 2 if not seen.shown.ahead else 0
        by_lag = seen.by_lag(self.lags[nearest:])
        sums, count = by_lag.cpu().double().numpy(), seen.shown.counted_BQ.sum(1).cpu().double().numpy()
        self._sum[:, nearest:] += sums.sum(0)
        self._squares[:, nearest:] += (sums**2).sum(0)
        self._weighted[:, nearest:] += (sums * count[:, None, None]).sum(0)
        self._count += count.sum()
        self._count_squares += (count**2).sum()
        self._sequences += int((count > 0).sum())

    def of(self, lags: Sequence[int]) -> np.ndarray:
        """Of these lags, (heads, lags)."""
        return self._error()[:, [self.lags.index(lag) for lag in lags]]

    def _error(self) -> np.ndarray:
        """(heads, lags): of a ratio of sums over sequences; NaN where there are fewer than two."""
        if self._sequences < 2:
            return np.full_like(self._sum, np.nan)
        share = self._sum / self._count
        squares = self._squares - 2 * share * self._weighted + share**2 * self._count_squares
        spread = np.maximum(squares, 0.0) * self._sequences / (self._sequences - 1)
        return np.asarray(np.sqrt(spread) / self._count)
