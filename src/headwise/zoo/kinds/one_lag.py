"""One lag to learn: the heads take it up, the loss drops once, and nothing else happens."""

from __future__ import annotations

from headwise.zoo.lag_training import BASE, make_lag_training
from headwise.zoo.training import Kind

KIND = Kind(
    "one_lag",
    __doc__,
    make_lag_training,
    development=(
        {**BASE, "groups": [[2]], "heads": 1, "steps": 400, "strength": 8.0},
        {**BASE, "groups": [[4]], "heads": 2, "steps": 400, "strength": 8.0},
    ),
    held_out=(
        {**BASE, "groups": [[3]], "heads": 1, "steps": 400, "strength": 8.0, "vocabulary": 14},
        {**BASE, "groups": [[5]], "heads": 3, "steps": 400, "strength": 8.0, "length": 20},
        {**BASE, "groups": [[1]], "heads": 2, "steps": 400, "strength": 8.0, "vocabulary": 10},
    ),
    runs=(8, 20),
)
