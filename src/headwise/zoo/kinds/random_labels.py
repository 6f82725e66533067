"""Every token is drawn at random: there is nothing to learn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import torch

from headwise.zoo.models.small import Small
from headwise.zoo.sequences import unrelated
from headwise.zoo.small_training import BASE as SMALL
from headwise.zoo.small_training import make_small
from headwise.zoo.training import Kind, Setting, Training

BASE: Setting = {**SMALL, "width": 24, "heads": 3, "length": 16, "steps": 250, "rate": 0.002, "warmup": 0}


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start and the tokens from the seed; every batch is new to the model."""
    draw = partial(unrelated, vocabulary=setting["vocabulary"], length=setting["length"] + 1)
    training = make_small(setting, seed, draw)
    assert isinstance(training.model, Small)
    with torch.no_grad():  # predictions begin even, as good as they can get
        training.model.unembedding.weight.mul_(0.05)
    return replace(training, pool=setting["steps"] * setting["batch"])


KIND = Kind(
    "random_labels",
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
