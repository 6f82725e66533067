"""One block of heads that look by position, on a lag task: what all kinds with lags share."""

from __future__ import annotations

from headwise.zoo.lag_task import lag_chain
from headwise.zoo.models.positions_only import PositionsOnly
from headwise.zoo.training import Setting, Training, next_token, seeded

BASE: Setting = {
    "vocabulary": 12,
    "length": 16,
    "heads": 3,
    "strength": 6.0,
    "ratio": 1.7,
    "spread": 0.02,
    "lean": [],
    "lean_size": 0.0,
    "rate": 0.03,
    "steps": 700,
    "batch": 64,
    "warmup": 200,
}
"""Every lag setting names its `groups` and what differs from this."""


def make_lag_training(setting: Setting, seed: int) -> Training:
    """The law of the tokens and the weights at the start come from the seed, all else from the setting."""
    vocabulary, length = setting["vocabulary"], setting["length"]
    draw = lag_chain(
        vocabulary=vocabulary,
        length=length + 1,
        groups=setting["groups"],
        strength=setting["strength"],
        ratio=setting["ratio"],
        generator=seeded(seed),
    )
    model = PositionsOnly(
        vocabulary=vocabulary,
        length=length,
        heads=setting["heads"],
        spread=setting["spread"],
        generator=seeded(seed, 1),
        lean=tuple(setting["lean"]),
        lean_size=setting["lean_size"],
    )
    return Training(
        model,
        next_token(draw),
        steps=setting["steps"],
        rate=setting["rate"],
        batch=setting["batch"],
        warmup=setting["warmup"],
    )
