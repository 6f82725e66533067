"""Repeated random tokens with one period: a fixed lag predicts them as well as induction."""

from __future__ import annotations

from functools import partial

from headwise.zoo.sequences import repeats
from headwise.zoo.small_training import BASE, make_small
from headwise.zoo.training import Kind, Setting, Training


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start from the seed; every sequence has a pattern of its own."""
    draw = partial(
        repeats, length=setting["length"] + 1, vocabulary=setting["vocabulary"], periods=tuple(setting["periods"])
    )
    return make_small(setting, seed, draw)


KIND = Kind(
    "repeats_fixed",
    __doc__,
    make,
    development=({**BASE, "vocabulary": 12, "periods": [6, 6], "length": 14, "heads": 2},),
    held_out=(
        {**BASE, "vocabulary": 16, "periods": [7, 7], "length": 16, "heads": 2},
        {**BASE, "vocabulary": 14, "periods": [5, 5], "length": 12},
    ),
    runs=(4, 8),
)
