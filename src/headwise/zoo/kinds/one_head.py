"""One head and two lags: it can only take up both, or choose."""

from __future__ import annotations

from headwise.zoo.lag_training import BASE, make_lag_training
from headwise.zoo.training import Kind

KIND = Kind(
    "one_head",
    __doc__,
    make_lag_training,
    development=(
        {**BASE, "groups": [[1], [3]], "heads": 1, "steps": 600},
        {**BASE, "groups": [[2], [3]], "heads": 1, "ratio": 1.2, "steps": 600},
    ),
    held_out=(
        {**BASE, "groups": [[2], [5]], "heads": 1, "steps": 600, "vocabulary": 16},
        {**BASE, "groups": [[4], [2]], "heads": 1, "ratio": 1.2, "steps": 600, "length": 20},
    ),
    runs=(6, 8),
)
