"""Every token is drawn at random: there is nothing to learn."""

from __future__ import annotations

from dataclasses import replace

import torch

from headwise.zoo.models.small import Small
from headwise.zoo.quiet_training import BASE as QUIET
from headwise.zoo.quiet_training import DEVELOPMENT, HELD_OUT, RUNS, make_quiet, varied
from headwise.zoo.training import Kind, Setting, Training

BASE: Setting = {**QUIET, "rate": 0.002}


def make(setting: Setting, seed: int) -> Training:
    """Weights at the start and the tokens from the seed; every batch is new to the model."""
    training = make_quiet(setting, seed)
    assert isinstance(training.model, Small)
    with torch.no_grad():  # predictions begin even, as good as they can get
        training.model.unembedding.weight.mul_(0.05)
    return replace(training, pool=setting["steps"] * setting["batch"])


KIND = Kind(
    "random_labels",
    __doc__,
    make,
    development=varied(BASE, DEVELOPMENT),
    held_out=varied(BASE, HELD_OUT),
    runs=RUNS,
    nothing=True,
)
