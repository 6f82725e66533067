"""Models on a lag task, most of them one block of heads that look by position: what all kinds with lags share."""

from __future__ import annotations

from torch import nn

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
    model = PositionsOnly(
        vocabulary=setting["vocabulary"],
        length=setting["length"],
        heads=setting["heads"],
        spread=setting["spread"],
        generator=seeded(seed, 1),
        lean=tuple(setting["lean"]),
        lean_size=setting["lean_size"],
    )
    return on_lag_task(model, setting, seed)


def on_lag_task(model: nn.Module, setting: Setting, seed: int) -> Training:
    """Any model of next tokens on the setting's lag task, whose law comes from the seed."""
    draw = lag_chain(
        vocabulary=setting["vocabulary"],
        length=setting["length"] + 1,
        groups=setting["groups"],
        strength=setting["strength"],
        ratio=setting["ratio"],
        generator=seeded(seed),
    )
    return Training(
        model,
        next_token(draw),
        steps=setting["steps"],
        rate=setting["rate"],
        batch=setting["batch"],
        warmup=setting["warmup"],
    )
