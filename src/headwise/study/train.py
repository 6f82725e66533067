"""`train`: a run from its config to its trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.store import OnDamage, load_trajectory
from headwise.study.config import RunConfig
from headwise.study.experiments import as_run_config

if TYPE_CHECKING:
    import xarray as xr

    from headwise.study.train_run import Report


def train(
    config: RunConfig | Mapping[str, Any] | str,
    out: Path | str = "runs",
    *,
    on_damage: OnDamage = "refuse",
    report: Report = lambda progress: None,
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> xr.Dataset:
    """Train, resume or simply read a run, whichever it needs, and return its trajectory.

    `config` is checked before anything is written; an experiment's name stands for its published reading. A damaged
    run is refused, or with `on_damage="recover"` resumed from its newest undamaged checkpoint. `report` is called after
    every measurement, `notify` with a line that a person should read once; once `stop_asked` returns true the run
    stops with its state saved and `Interrupted` is raised.

    >>> import tempfile
    >>> from headwise import experiment, train
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 8, "measure.test_samples": 30}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     trajectory = train(experiment("minimal", "redrawn", changes=small), out=out)
    >>> trajectory.sizes["head"], int(trajectory.step[-1])
    (3, 8)
    """
    from headwise.study.runner import execute

    run = execute(as_run_config(config), out, report=report, notify=notify, stop_asked=stop_asked, on_damage=on_damage)
    return load_trajectory(run.path)
