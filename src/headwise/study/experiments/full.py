"""The full decoder of §2.3 on its own task."""

from __future__ import annotations

from headwise.model.config import FULL_PUBLISHED, FULL_TEXT
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.features import features_of
from headwise.task.config import TaskConfig
from headwise.training.config import TrainConfig


def full(preset: Preset) -> RunConfig:
    """A single-block decoder with layer norm, residual connections, MLP and dropout; twelve lags in groups of four.

    `headwise train full --steps 1000`, as published: about 8 minutes on one free core with the kernel; seed 6 ends
    3.13, 0.79 and 0.20 nats from the three prefixes, where the figure has 3.07, 0.79 and 0.19.
    """
    if preset != "text":
        return RunConfig(
            experiment="full",
            preset=preset,
            task=TaskConfig(w=12, alpha="sum", features=features_of(preset)),
            model=FULL_PUBLISHED,
            train=TrainConfig(lr=0.003, dropout_steps="first-of-pass"),
        )
    return RunConfig(
        experiment="full",
        preset=preset,
        task=TaskConfig(w=12, alpha="uniform"),
        model=FULL_TEXT,
        train=TrainConfig(lr=0.003, schedule="plateau"),
    )
