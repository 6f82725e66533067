"""Lags of equal importance, heads that lean to different ones at the start: each goes to its own at once."""

from __future__ import annotations

from headwise.zoo.lag_training import BASE, make_lag_training
from headwise.zoo.training import Kind

KIND = Kind(
    "lags_apart",
    __doc__,
    make_lag_training,
    development=(
        {**BASE, "groups": [[1], [3]], "heads": 2, "ratio": 1.0, "lean": [1, 3], "lean_size": 0.5},
        {**BASE, "groups": [[2], [4], [5]], "ratio": 1.0, "lean": [2, 4, 5], "lean_size": 0.5, "vocabulary": 16},
    ),
    held_out=(
        {**BASE, "groups": [[2], [5]], "heads": 2, "ratio": 1.0, "lean": [5, 2], "lean_size": 0.5, "vocabulary": 14},
        {**BASE, "groups": [[1], [3], [6]], "ratio": 1.0, "lean": [3, 6, 1], "lean_size": 0.5, "length": 20},
    ),
    runs=(6, 10),
)
