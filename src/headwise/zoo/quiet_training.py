"""A small transformer shown unrelated tokens: what the kinds share in which nothing happens."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from headwise.zoo.sequences import unrelated
from headwise.zoo.small_training import BASE as SMALL
from headwise.zoo.small_training import make_small
from headwise.zoo.training import Setting, Training

BASE: Setting = {**SMALL, "width": 24, "heads": 3, "length": 16, "steps": 250, "warmup": 0}
DEVELOPMENT: tuple[Setting, ...] = ({"vocabulary": 8}, {"vocabulary": 12, "blocks": 1, "positions": "absolute"})
HELD_OUT: tuple[Setting, ...] = (
    {"vocabulary": 10},
    {"vocabulary": 6, "blocks": 1, "heads": 2},
    {"vocabulary": 14, "positions": "absolute"},
)
RUNS = (10, 28)


def make_quiet(setting: Setting, seed: int) -> Training:
    """Weights at the start and the tokens from the seed."""
    return make_small(setting, seed, partial(unrelated, vocabulary=setting["vocabulary"], length=setting["length"] + 1))


def varied(base: Setting, changes: Sequence[Setting]) -> tuple[Setting, ...]:
    """The settings of a part: the base with each of these changes."""
    return tuple({**base, **change} for change in changes)
