"""The full decoder of §2.3 on its own task."""

from __future__ import annotations

from headwise.model.config import FULL_PUBLISHED, FULL_TEXT
from headwise.study.config import Preset, RunConfig
from headwise.task.config import TaskConfig
from headwise.training.config import TrainConfig


def full(preset: Preset) -> RunConfig:
    """A single-block decoder with layer norm, residual connections, MLP and dropout; twelve lags in groups of four."""
    if preset == "published":
        return RunConfig(
            experiment="full",
            preset=preset,
            task=TaskConfig(w=12, alpha="sum"),
            model=FULL_PUBLISHED,
            train=TrainConfig(lr=0.003),
        )
    return RunConfig(
        experiment="full",
        preset=preset,
        task=TaskConfig(w=12, alpha="uniform"),
        model=FULL_TEXT,
        train=TrainConfig(lr=0.003, schedule="plateau"),
    )
