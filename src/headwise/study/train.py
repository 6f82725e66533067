"""`train`: a run from its config to its trajectory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.core.look import Metric, OnLook
from headwise.core.named_options import named_options_beside
from headwise.store import OnDamage, load_trajectory
from headwise.study.config import RunConfig
from headwise.study.config_keys import run_config_keys
from headwise.study.experiments import as_run_config
from headwise.study.interrupts import stop_on_interrupt
from headwise.study.kept_features import keep_features
from headwise.study.shown_progress import Shown, shown_progress

if TYPE_CHECKING:
    import xarray as xr

    from headwise.study.own_engine import Build
    from headwise.study.train_run import Report
    from headwise.task.own_task import OwnTask
    from headwise.training.optimisers import MakeOptimiser


@named_options_beside(run_config_keys)
def train(
    config: RunConfig | Mapping[str, Any] | str,
    out: Path | str = "runs",
    *,
    on_damage: OnDamage = "refuse",
    progress: Shown = "auto",
    report: Report | None = None,
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
    label: str | None = None,
    features: Any = None,
    task: OwnTask | None = None,
    model: Build | None = None,
    attention: str | None = None,
    optimizer: MakeOptimiser | None = None,
    metrics: Mapping[str, Metric] | None = None,
    on_look: OnLook | None = None,
) -> xr.Dataset:
    """Train, resume or simply read a run, whichever it needs, and return its trajectory.

    `config` is checked before anything is written; an experiment's name stands for its published reading. A damaged
    run is refused, or with `on_damage="recover"` resumed from its newest undamaged checkpoint. `progress` says on
    stderr how far it is, unless it is "off" or `report` is given, which is then called after every measurement.
    `notify` is called with a line that a person should read once; once `stop_asked` returns true the run stops with its
    state saved and `Interrupted` is raised. `label` is what lists and pages call the run; it may change at any time.

    `features` are feature matrices of one's own, (count, d, d), instead of those that `task.features` names.
    Code of one's own (docs/extend.md): `task` is an `OwnTask`; `model` a function that makes a torch module from tokens
    to logits, with `attention` as in `watch`; `optimizer` a function from parameters to an optimiser; `metrics`
    functions by name, each called with the `Look` at every evaluation, whose numbers are kept in the variable
    `metrics`. A run records their source by digest and is another run with other code. `on_look` is called with the
    `Look` once everything is measured. After a Ctrl-C the run is saved and the same call resumes it.

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
    own = OwnCode(
        task=task, model=model, attention=attention, optimizer=optimizer, metrics=metrics or {}, on_look=on_look
    )
    checked = as_run_config(config)
    if features is not None:
        checked = checked.changed({"task.features": keep_features(features, out)})
    with stop_on_interrupt(stop_asked) as stop:
        run = execute(
            checked,
            out,
            report=told,
            notify=notify,
            stop_asked=stop,
            on_damage=on_damage,
            own=own,
            label=label,
        )
    return load_trajectory(run.path)
