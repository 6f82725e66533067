"""In-context Markov chains of order 1: a table of its own for each sequence, to be read off the sequence."""

from __future__ import annotations

from functools import partial

from headwise.zoo.sequences import markov
from headwise.zoo.small_training import BASE, make_small
from headwise.zoo.training import Kind, Setting, Training


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start from the seed; every sequence has a pattern of its own."""
    draw = partial(
        markov, length=setting["length"] + 1, vocabulary=setting["vocabulary"], order=1, peak=setting["peak"]
    )
    return make_small(setting, seed, draw)


KIND = Kind(
    "markov_1",
    __doc__,
    make,
    development=(
        {**BASE, "vocabulary": 5, "peak": 0.3, "rate": 0.01},
        {**BASE, "vocabulary": 4, "peak": 0.2, "rate": 0.01, "heads": 2, "length": 28},
    ),
    held_out=(
        {**BASE, "vocabulary": 6, "peak": 0.2, "rate": 0.01},
        {**BASE, "vocabulary": 3, "peak": 0.2, "rate": 0.01, "heads": 2, "length": 32},
        {**BASE, "vocabulary": 8, "peak": 0.1, "rate": 0.008},
    ),
    runs=(6, 18),
)
