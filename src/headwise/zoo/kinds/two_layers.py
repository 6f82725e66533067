"""Recall of pairs: one block must mark values with their keys before the next can find them."""

from __future__ import annotations

from functools import partial

from headwise.zoo.sequences import recall
from headwise.zoo.small_training import BASE, make_small
from headwise.zoo.training import Kind, Setting, Training


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start from the seed; every sequence has a pattern of its own."""
    draw = partial(
        recall, length=setting["length"] + 1, keys=setting["keys"], values=setting["vocabulary"] - setting["keys"]
    )
    return make_small(setting, seed, draw)


KIND = Kind(
    "two_layers",
    __doc__,
    make,
    development=({**BASE, "vocabulary": 12, "keys": 6, "heads": 2},),
    held_out=(
        {**BASE, "vocabulary": 14, "keys": 5, "heads": 2},
        {**BASE, "vocabulary": 16, "keys": 6, "heads": 4, "length": 28},
    ),
    runs=(4, 6),
)
