"""In-context Markov chains of order 2: the last two tokens together say what comes next."""

from __future__ import annotations

from functools import partial

from headwise.zoo.sequences import markov
from headwise.zoo.small_training import BASE, make_small
from headwise.zoo.training import Kind, Setting, Training


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start from the seed; every sequence has a pattern of its own."""
    draw = partial(
        markov, length=setting["length"] + 1, vocabulary=setting["vocabulary"], order=2, peak=setting["peak"]
    )
    return make_small(setting, seed, draw)


KIND = Kind(
    "markov_2",
    __doc__,
    make,
    development=({**BASE, "vocabulary": 3, "peak": 0.15, "length": 32, "rate": 0.01, "steps": 500, "mlp": 32},),
    held_out=(
        {**BASE, "vocabulary": 2, "peak": 0.2, "length": 32, "rate": 0.01, "steps": 500, "mlp": 32},
        {**BASE, "vocabulary": 4, "peak": 0.1, "length": 36, "rate": 0.01, "steps": 500, "mlp": 32},
    ),
    runs=(3, 4),
)
