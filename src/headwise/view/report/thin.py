"""Which moments of a long run a page keeps when all of them would make it too large to mail.

Whole moments are left out, never digits: what the page shows at a step is exactly what is stored at that step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def keep_moments(steps: np.ndarray, count: int, *, always: Sequence[float] = ()) -> np.ndarray:
    """Indices of at most `count` (but no fewer than two) of `steps`: evenly by position, with the ends.

    The moments next to those in `always` (events) replace their nearest neighbours in the even choice. Where there is
    room for two moments alone, the first event takes the place of the beginning, where all runs look alike.

    >>> keep_moments(np.arange(11.0), 4, always=[2]).tolist(), keep_moments(np.arange(11.0), 2, always=[2, 6]).tolist()
    ([0, 2, 7, 10], [2, 10])
    """
    count = max(2, count)
    if len(steps) <= count:
        return np.arange(len(steps))
    chosen = set(np.linspace(0, len(steps) - 1, count).round().astype(int).tolist())
    wanted = {int(np.abs(steps - time).argmin()) for time in always} - {0, len(steps) - 1}
    if count == 2 and wanted:
        return np.array([min(wanted), len(steps) - 1])
    for index in sorted(wanted - chosen)[: count - 2]:
        others = sorted(chosen - wanted - {0, len(steps) - 1}, key=lambda other: abs(other - index))
        if others:
            chosen.remove(others[0])
            chosen.add(index)
    return np.array(sorted(chosen))
