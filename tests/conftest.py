"""Shared by all tests: one thread, and tiny configs that run in a second."""

from __future__ import annotations

import os
import signal

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

from headwise.measure.config import MeasureConfig, Schedule
from headwise.paper.controls import without_stages
from headwise.study.config import RunConfig
from headwise.study.experiments import experiment
from headwise.task import bayes, bayes_fitted


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


def pytest_configure() -> None:
    """A shell that starts the suite behind `&` has interrupts ignored; tests send them."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def shorten_fits(patch: pytest.MonkeyPatch) -> None:
    """Best predictors of a few steps, taken for converged: for tests of everything but what they say."""
    patch.setattr(bayes, "MOST_VISIBLE", 0)
    patch.setattr(without_stages, "FINE", without_stages.FINE[::20])
    for name, value in {"STEPS": 4, "WIDTH": 16, "HELD_OUT": 20, "AT_A_TIME": 60, "CONVERGED": 100.0}.items():
        patch.setattr(bayes_fitted, name, value)


@pytest.fixture
def short_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_fits(monkeypatch)
