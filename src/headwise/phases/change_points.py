"""Change points of curves: the cuts that make the pieces between them as constant as a price for each cut allows.

The cost of a piece is the sum of squared distances from its mean over all curves; the best cuts are found exactly, by
dynamic programming over the place of the last one ("optimal partitioning", Jackson et al. 2005). Its time is quadratic
in the number of places, which the grid of a run keeps to a few hundred.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def change_points(curves: npt.NDArray[np.floating], *, penalty: float, shortest: int = 2) -> list[int]:
    """First places of all pieces but the first, for curves (place, curve); no piece is shorter than `shortest`.

    >>> steps = np.repeat([0.0, 5.0, 1.0], 10)[:, None]
    >>> change_points(steps, penalty=1.0)
    [10, 20]
    """
    length = len(curves)
    # Differences from the overall mean, so that the two sums below do not cancel for curves far from zero.
    centred = curves - curves.mean(axis=0)
    sums = np.vstack([np.zeros(centred.shape[1]), np.cumsum(centred, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum((centred**2).sum(axis=1))])
    best = np.full(length + 1, np.inf)
    best[0] = -penalty  # the first piece has no cut before it
    last = np.zeros(length + 1, dtype=int)
    for end in range(shortest, length + 1):
        starts = np.arange(0, end - shortest + 1)
        spread = squares[end] - squares[starts]
        cost = spread - ((sums[end] - sums[starts]) ** 2).sum(axis=1) / (end - starts)
        total = best[starts] + np.maximum(cost, 0.0) + penalty
        last[end] = starts[np.argmin(total)]
        best[end] = total.min()
    cuts: list[int] = []
    end = length
    while end > 0 and np.isfinite(best[length]):
        end = int(last[end])
        cuts.append(end)
    return sorted(cut for cut in cuts if cut > 0)
