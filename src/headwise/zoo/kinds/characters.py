"""Characters of the sources of Python's own standard library."""

from __future__ import annotations

import sysconfig
from functools import cache, partial
from pathlib import Path

import torch
from torch import Tensor

from headwise.zoo.small_training import BASE as SMALL
from headwise.zoo.small_training import make_small
from headwise.zoo.training import Kind, Setting, Training

ALPHABET = "\n abcdefghijklmnopqrstuvwxyz_.,:()[]{}'\"=+-*/#0123456789"
"""Capitals become small letters; what is not here becomes a full stop."""


@cache
def text(source: str) -> Tensor:
    """A module of the standard library as token ids."""
    path = Path(sysconfig.get_paths()["stdlib"]) / f"{source}.py"
    ids = {character: index for index, character in enumerate(ALPHABET)}
    return torch.tensor([ids.get(c, ids["."]) for c in path.read_text(encoding="utf-8").lower()])


def excerpts(rng: torch.Generator, count: int, *, length: int, source: str) -> Tensor:
    """Pieces that begin anywhere."""
    whole = text(source)
    start = torch.randint(len(whole) - length, (count, 1), generator=rng)
    return whole[start + torch.arange(length)]


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start and the order of the pieces from the seed."""
    return make_small(setting, seed, partial(excerpts, length=setting["length"] + 1, source=setting["source"]))


BASE: Setting = {**SMALL, "vocabulary": len(ALPHABET), "rate": 0.005, "steps": 400, "mlp": 64, "warmup": 0}

KIND = Kind(
    "characters",
    __doc__,
    make,
    development=({**BASE, "source": "argparse"},),
    held_out=({**BASE, "source": "inspect", "length": 28}, {**BASE, "source": "subprocess", "heads": 2}),
    runs=(2, 4),
)
