"""The minimal model of §2.4 on its own task."""

from __future__ import annotations

from headwise.model.config import MINIMAL_PUBLISHED, MINIMAL_TEXT
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.features import features_of
from headwise.task.config import TaskConfig
from headwise.training.config import TrainConfig


def minimal(preset: Preset) -> RunConfig:
    """Attention alone: one matrix A_k and one value matrix per head, no norm, residual, MLP or embedding.

    `headwise train minimal --steps 1000`: about a minute on one quiet core with the kernel; seeds 0 to 4 end at an
    excess loss of 0.082 to 0.085, with stage boundaries near steps 340 and 540.
    """
    if preset != "text":
        return RunConfig(
            experiment="minimal",
            preset=preset,
            task=TaskConfig(alpha="sum", features=features_of(preset)),
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
