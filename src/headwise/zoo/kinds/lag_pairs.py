"""Pairs of lags with one matrix each: a head takes up both lags of a pair together."""

from __future__ import annotations

from headwise.zoo.lag_training import BASE, make_lag_training
from headwise.zoo.training import Kind

KIND = Kind(
    "lag_pairs",
    __doc__,
    make_lag_training,
    development=(
        {**BASE, "groups": [[1, 2], [4, 5]], "heads": 2},
        {**BASE, "groups": [[2, 3], [5, 6]], "vocabulary": 16, "length": 20},
    ),
    held_out=(
        {**BASE, "groups": [[2, 3], [5, 6]], "heads": 2, "vocabulary": 14},
        {**BASE, "groups": [[1, 3], [4, 6]], "heads": 3, "length": 20},
    ),
    runs=(6, 10),
)
