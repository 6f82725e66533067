"""Shared by all tests: one thread, and tiny configs that run in a second."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from headwise.measure.config import MeasureConfig, Schedule
from headwise.study.config import RunConfig
from headwise.study.experiments import experiment


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    import torch

    torch.set_num_threads(1)


def tiny(name: str = "minimal", **updates: object) -> RunConfig:
    """An experiment at a size that trains in about a second; `updates` are dotted keys with `__` for the dot."""
    values: dict[str, object] = {
        "task.d": 6,
        "task.T": 5,
        "task.w": 6,
        "model.width": 12,
        "model.mlp": 8 if name == "full" else 0,
        "train.batch": 20,
        "train.samples": 60,
        "train.steps": 12,
        "train.checkpoint_every": 4,
        "measure.test_samples": 30,
        "measure.at.every": 3,
        "measure.snapshots.every": 6,
    }
    values |= {key.replace("__", "."): value for key, value in updates.items()}
    return experiment(name, "redrawn", changes=values)


__all__ = ["MeasureConfig", "Schedule", "tiny"]
