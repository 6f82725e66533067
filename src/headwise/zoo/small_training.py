"""A small transformer on sequences with a pattern: what the kinds with several blocks share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from headwise.zoo.models.small import Small
from headwise.zoo.training import Setting, Training, next_token, seeded

BASE: Setting = {
    "vocabulary": 12,
    "length": 24,
    "width": 32,
    "heads": 4,
    "blocks": 2,
    "positions": "lags",
    "mlp": 0,
    "rate": 0.006,
    "batch": 32,
    "steps": 400,
    "warmup": 80,
}


def make_small(setting: Setting, seed: int, draw: Callable[[torch.Generator, int], Tensor]) -> Training:
    """`draw` gives `length + 1` tokens, of which all but the first are targets."""
    model = Small(
        vocabulary=setting["vocabulary"],
        length=setting["length"],
        width=setting["width"],
        heads=setting["heads"],
        blocks=setting["blocks"],
        generator=seeded(seed, 1),
        positions=setting["positions"],
        mlp=setting["mlp"],
    )
    return Training(
        model,
        next_token(draw),
        steps=setting["steps"],
        rate=setting["rate"],
        batch=setting["batch"],
        warmup=setting["warmup"],
    )
