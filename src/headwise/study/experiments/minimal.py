"""The minimal model of §2.4 on its own task."""

from __future__ import annotations

from headwise.model.config import MINIMAL_PUBLISHED, MINIMAL_TEXT
from headwise.study.config import Preset, RunConfig
from headwise.task.config import TaskConfig
from headwise.training.config import TrainConfig


def minimal(preset: Preset) -> RunConfig:
    """Attention alone: one matrix A_k and one value matrix per head, no norm, residual, MLP or embedding.

    `headwise train minimal --steps 1000`: 2 minutes on the kernel (seed 2), 7 and 9 on torch (seeds 0, 1), busy core;
    stages end near steps 357 and 515, and the excess loss at 0.083, in the median of these three seeds.
    """
    if preset == "published":
        return RunConfig(
            experiment="minimal",
            preset=preset,
            task=TaskConfig(alpha="sum"),
            model=MINIMAL_PUBLISHED,
            train=TrainConfig(lr=0.08),
        )
    return RunConfig(
        experiment="minimal",
        preset=preset,
        task=TaskConfig(alpha="uniform"),
        model=MINIMAL_TEXT,
        train=TrainConfig(lr=0.003, schedule="plateau"),
    )
