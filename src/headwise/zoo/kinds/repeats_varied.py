"""Repeated random tokens with a period that differs by sequence: only induction predicts them."""

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
    "repeats_varied",
    __doc__,
    make,
    development=(
        {**BASE, "vocabulary": 12, "periods": [4, 11]},
        {**BASE, "vocabulary": 16, "periods": [5, 12], "length": 28, "heads": 2},
    ),
    held_out=(
        {**BASE, "vocabulary": 14, "periods": [4, 12], "length": 28},
        {**BASE, "vocabulary": 10, "periods": [3, 10], "heads": 3, "width": 36},
        {**BASE, "vocabulary": 18, "periods": [5, 12], "length": 26},
    ),
    runs=(6, 20),
)
