"""The paper's full decoder (§2.3) by independent code, small: torch's own encoder layer under a causal mask."""

from __future__ import annotations

from headwise.zoo.lag_training import on_lag_task
from headwise.zoo.models.encoder_layer import FullDecoder
from headwise.zoo.training import Kind, Setting, Training, seeded


def make(setting: Setting, seed: int) -> Training:
    """Law and start from the seed."""
    model = FullDecoder(
        vocabulary=setting["vocabulary"],
        length=setting["length"],
        width=setting["width"],
        heads=setting["heads"],
        mlp=setting["mlp"],
        generator=seeded(seed, 1),
    )
    return on_lag_task(model, setting, seed)


BASE: Setting = {
    "vocabulary": 12,
    "length": 12,
    "heads": 3,
    "width": 36,
    "mlp": 48,
    "groups": [[1], [3]],
    "strength": 6.0,
    "ratio": 1.7,
    "rate": 0.005,
    "steps": 500,
    "batch": 48,
    "warmup": 100,
}

KIND = Kind(
    "paper_full",
    __doc__,
    make,
    development=({**BASE, "groups": [[2], [4]]}, {**BASE, "groups": [[2, 3], [4, 5]]}),
    held_out=(
        {**BASE, "groups": [[3], [2]], "vocabulary": 14},
        {**BASE, "groups": [[3, 4], [1, 2]], "heads": 2, "length": 14},
    ),
    runs=(4, 8),
)
