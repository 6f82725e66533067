"""The verbs of the Python surface: the same jobs as the command line, returning objects."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import xarray as xr

    from headwise.study.config import RunConfig


def load(run: Path | str) -> xr.Dataset:
    """The trajectory of a stored run, finished or not; needs no torch.

    >>> trajectory = load("runs/minimal/0ea5daec-s0")  # doctest: +SKIP
    >>> float(trajectory.excess_loss[-1])  # doctest: +SKIP
    0.083
    """
    from headwise.store import load_trajectory

    return load_trajectory(run)


def train(config: RunConfig | Mapping[str, Any] | str, out: Path | str = "runs") -> xr.Dataset:
    """Train, resume or simply read a run, whichever it needs, and return its trajectory.

    `config` is checked before anything is written. An experiment's name stands for its published reading.

    >>> from headwise import experiment
    >>> config = experiment("minimal", changes={"train.steps": 1000})
    >>> trajectory = train(config, out="runs")  # doctest: +SKIP
    """
    from headwise.study.experiments import as_run_config
    from headwise.study.runner import execute

    return load(execute(as_run_config(config), out).path)
