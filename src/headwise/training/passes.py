"""Passes over the training data: how many steps each has, and in which of them dropout acts."""

from __future__ import annotations

from headwise.training.config import TrainConfig


def steps_per_pass(config: TrainConfig) -> int:
    """Steps until every training sequence has been seen once; fresh data use the same count for their schedule."""
    return -(-config.samples // config.batch)


def drops(config: TrainConfig, step: int) -> bool:
    """Whether dropout acts in a step (from 0)."""
    return config.dropout_steps == "all" or step % steps_per_pass(config) == 0


def share_with_dropout(config: TrainConfig) -> float:
    """The share of steps in which dropout acts, of a whole number of passes."""
    return 1.0 if config.dropout_steps == "all" else 1 / steps_per_pass(config)
