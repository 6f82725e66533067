"""Copying with a delimiter: a piece of varied length, a delimiter, and the piece again."""

from __future__ import annotations

from functools import partial

from headwise.zoo.sequences import copies
from headwise.zoo.small_training import BASE, make_small
from headwise.zoo.training import Kind, Setting, Training


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start from the seed; every sequence has a pattern of its own."""
    draw = partial(
        copies, length=setting["length"] + 1, vocabulary=setting["vocabulary"], lengths=tuple(setting["lengths"])
    )
    return make_small(setting, seed, draw)


KIND = Kind(
    "copying",
    __doc__,
    make,
    development=({**BASE, "vocabulary": 12, "lengths": [4, 8], "length": 30, "heads": 2},),
    held_out=(
        {**BASE, "vocabulary": 16, "lengths": [3, 7], "length": 30, "heads": 2},
        {**BASE, "vocabulary": 14, "lengths": [5, 9], "length": 32, "heads": 4},
    ),
    runs=(3, 6),
)
