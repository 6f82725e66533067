"""Weights that take independent random steps: nothing is learned."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from headwise.zoo.sequences import unrelated
from headwise.zoo.small_training import BASE as SMALL
from headwise.zoo.small_training import make_small
from headwise.zoo.training import Kind, Setting, Training

BASE: Setting = {**SMALL, "width": 24, "heads": 3, "length": 16, "steps": 250, "rate": 0.006, "warmup": 0}


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start and how they move from the seed."""
    draw = partial(unrelated, vocabulary=setting["vocabulary"], length=setting["length"] + 1)
    return replace(make_small(setting, seed, draw), moves="walk")


KIND = Kind(
    "random_walk",
    __doc__,
    make,
    development=(
        {**BASE, "vocabulary": 8},
        {**BASE, "vocabulary": 12, "blocks": 1, "positions": "absolute"},
    ),
    held_out=(
        {**BASE, "vocabulary": 10},
        {**BASE, "vocabulary": 6, "blocks": 1, "heads": 2},
        {**BASE, "vocabulary": 14, "positions": "absolute"},
    ),
    runs=(10, 28),
    nothing=True,
)
