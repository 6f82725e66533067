"""Modular addition: `a b = c` with c = a + b modulo a prime, learned from all pairs."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from headwise.zoo.small_training import BASE as SMALL
from headwise.zoo.small_training import make_small
from headwise.zoo.training import Kind, Setting, Training


def sums(rng: torch.Generator, count: int, *, prime: int) -> Tensor:
    """(count, 4) tokens; the equals sign is the last token id."""
    pair = torch.randint(prime, (count, 2), generator=rng)
    equals = torch.full((count, 1), prime)
    return torch.cat([pair, equals, pair.sum(1, keepdim=True) % prime], 1)


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start from the seed."""
    return make_small(setting, seed, partial(sums, prime=setting["vocabulary"] - 1))


BASE: Setting = {**SMALL, "length": 3, "blocks": 1, "mlp": 64, "rate": 0.005, "steps": 500, "positions": "absolute"}

KIND = Kind(
    "modular_addition",
    __doc__,
    make,
    development=({**BASE, "vocabulary": 12, "heads": 2},),
    held_out=({**BASE, "vocabulary": 14, "heads": 2}, {**BASE, "vocabulary": 8, "heads": 4}),
    runs=(2, 4),
)
