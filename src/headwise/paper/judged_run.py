"""A stored run as claims read it: its trajectory, and what is known of the best predictors of its task.

How far these are from the law and how near a run without stages comes to them depends on the task alone. It is computed
once and kept beside the runs, so that a test needs nothing but the trajectory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.config import validated
from headwise.core.predictors import predictors_of_kind
from headwise.paper.controls.contexts import chain_contexts
from headwise.paper.controls.without_stages import about_predictors
from headwise.store import RunDirectory, load_trajectory
from headwise.study.config import RunConfig
from headwise.study.kept_predictors import kept_predictors
from headwise.task.bayes import Remember, compute_anew
from headwise.task.chain import Task, build_task

if TYPE_CHECKING:
    import xarray as xr

VERSION = 1
"""Counts changes of what is computed here, so that what was kept of an older one is not taken for it."""


def judged_trajectory(path: Path) -> xr.Dataset:
    """The trajectory of a run with the attribute `best_predictors`, where it was compared with them."""
    trajectory = load_trajectory(path)
    recorded = trajectory["predictor"].values if "predictor" in trajectory.coords else ()
    if not predictors_of_kind(recorded, "bayes"):
        return trajectory
    config = validated(RunConfig, RunDirectory(path).read_config())
    task = build_task(config.task, config.seed_of("task"))
    return trajectory.assign_attrs(best_predictors=json.dumps(known_predictors(task, kept_predictors(path.parents[1]))))


def known_predictors(task: Task, remember: Remember = compute_anew) -> dict[str, dict[str, float]]:
    """`about_predictors` on contexts of the task's own sequences."""
    digest = hashlib.sha256(np.ascontiguousarray(task.lag_tables).tobytes())
    digest.update(repr(("best_predictors", VERSION, task.lags, task.config.T)).encode())

    def compute() -> Mapping[str, np.ndarray]:
        about = about_predictors(chain_contexts(task, remember))
        return {f"{name}.{what}": np.array([value]) for name, row in about.items() for what, value in row.items()}

    found: dict[str, dict[str, float]] = {}
    for key, value in remember(digest.hexdigest()[:32], compute).items():
        name, _, what = key.partition(".")
        found.setdefault(name, {})[what] = float(value[0])
    return found
