"""The paper's minimal model (§2.4) by independent code, small: groups of lags, tiny or Xavier start."""

from __future__ import annotations

from headwise.zoo.lag_training import on_lag_task
from headwise.zoo.models.minimal import Minimal
from headwise.zoo.training import Kind, Setting, Training, seeded


def make(setting: Setting, seed: int) -> Training:
    """Law and start from the seed."""
    model = Minimal(
        vocabulary=setting["vocabulary"],
        length=setting["length"],
        heads=setting["heads"],
        start=setting["start"],
        xavier=setting["start"] == "xavier",
        generator=seeded(seed, 1),
    )
    return on_lag_task(model, setting, seed)


BASE: Setting = {
    "vocabulary": 12,
    "length": 10,
    "heads": 3,
    "groups": [[1], [2], [3]],
    "strength": 6.0,
    "ratio": 1.7,
    "start": 0.001,
    "rate": 0.1,
    "steps": 600,
    "batch": 96,
    "warmup": 100,
}

KIND = Kind(
    "paper_minimal",
    __doc__,
    make,
    development=(BASE, {**BASE, "groups": [[1, 2], [3, 4]], "heads": 2, "start": "xavier"}),
    held_out=(
        {**BASE, "vocabulary": 14, "groups": [[2], [1]]},
        {**BASE, "vocabulary": 10, "groups": [[1, 2], [3, 4]], "length": 12},
        {**BASE, "groups": [[3], [1]], "heads": 2, "start": "xavier"},
    ),
    runs=(6, 12),
)
