"""`train`: a run from its config to its trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.core.look import Metric, OnLook
from headwise.core.named_options import named_options
from headwise.store import OnDamage, load_trajectory
from headwise.study.config import RunConfig
from headwise.study.experiments import as_run_config
from headwise.study.shown_progress import Shown, shown_progress

if TYPE_CHECKING:
    import xarray as xr

    from headwise.study.train_run import Report


@named_options
def train(
    config: RunConfig | Mapping[str, Any] | str,
    out: Path | str = "runs",
    *,
    on_damage: OnDamage = "refuse",
    progress: Shown = "auto",
    report: Report | None = None,
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
    metrics: Mapping[str, Metric] | None = None,
    on_look: OnLook | None = None,
) -> xr.Dataset:
    """Train, resume or simply read a run, whichever it needs, and return its trajectory.

    `config` is checked before anything is written; an experiment's name stands for its published reading. A damaged
    run is refused, or with `on_damage="recover"` resumed from its newest undamaged checkpoint. `progress` says on
    stderr how far it is, unless it is "off" or `report` is given, which is then called after every measurement.
    `notify` is called with a line that a person should read once; once `stop_asked` returns true the run stops with its
    state saved and `Interrupted` is raised.

    `metrics` are functions of one's own by name; each is called with the `Look` at every evaluation and returns a
    number, which is kept in the variable `metrics`. `on_look` is called with the `Look` once everything is measured. A
    run records the source of its metrics by digest and is another run with others (docs/extend.md).

    >>> import tempfile
    >>> from headwise import experiment, train
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 8, "measure.test_samples": 30}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     trajectory = train(experiment("minimal", "redrawn", changes=small), out=out)
    >>> trajectory.sizes["head"], int(trajectory.step[-1])
    (3, 8)
    """
    from headwise.study.own_code import OwnCode
    from headwise.study.runner import execute

    told = shown_progress(progress) if report is None else report
    run = execute(
        as_run_config(config),
        out,
        report=told,
        notify=notify,
        stop_asked=stop_asked,
        on_damage=on_damage,
        own=OwnCode(metrics=metrics or {}, on_look=on_look),
    )
    return load_trajectory(run.path)
