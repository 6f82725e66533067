"""Lags of different importance, heads that start alike: all go to the most important lag, then some leave."""

from __future__ import annotations

from headwise.zoo.lag_training import BASE, make_lag_training
from headwise.zoo.training import Kind

KIND = Kind(
    "lags_competing",
    __doc__,
    make_lag_training,
    development=(
        {**BASE, "groups": [[3], [2]], "heads": 4},
        {**BASE, "groups": [[2], [4]], "vocabulary": 20},
        {**BASE, "groups": [[1], [3]], "heads": 2, "vocabulary": 16},
        {**BASE, "groups": [[2], [1], [4]], "strength": 4.0, "ratio": 1.6, "vocabulary": 16, "steps": 800},
    ),
    held_out=(
        {**BASE, "groups": [[1], [4]], "heads": 4, "vocabulary": 18},
        {**BASE, "groups": [[1], [3]], "heads": 3, "vocabulary": 14, "length": 18, "ratio": 1.8},
        {**BASE, "groups": [[1], [2]], "heads": 2, "vocabulary": 20, "ratio": 1.8, "spread": 0.05},
        {**BASE, "groups": [[2], [5]], "heads": 4, "vocabulary": 14, "length": 18, "rate": 0.04},
        {**BASE, "groups": [[2], [3]], "heads": 5, "vocabulary": 16, "ratio": 1.8},
        {**BASE, "groups": [[3], [1], [5]], "strength": 4.0, "ratio": 1.9, "vocabulary": 18, "steps": 800},
        {**BASE, "groups": [[4], [2]], "vocabulary": 14, "length": 18, "ratio": 1.9},
    ),
    runs=(24, 90),
)
