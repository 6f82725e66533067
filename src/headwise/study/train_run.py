"""The training of one run inside its directory: resume, step, measure, save, end.

Checkpoints and metrics are written in the store's order, so a run that is killed at any moment resumes from the last
checkpoint and ends bit for bit as if it had not been.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch

from headwise.core.errors import Interrupted
from headwise.core.own_metrics import metric_coordinates
from headwise.measure.ablations import cost_text, when_text
from headwise.store import OnDamage, RunDirectory, describe_run, now
from headwise.study.branch_start import begin_branch
from headwise.study.config import RunConfig
from headwise.study.cost import importance_seconds, readable
from headwise.study.kernel_change import kernel_change, kernel_of
from headwise.study.own_code import OwnCode
from headwise.study.prepared_run import PreparedRun
from headwise.study.recorder import Recorder
from headwise.study.resumed_config import as_stored
from headwise.study.run_location import run_identity
from headwise.training.loop import Diverged, Training, advance


@dataclass(frozen=True)
class Progress:
    """A run's state after a measurement, for a progress display."""

    experiment: str
    step: int
    steps: int
    loss: float
    excess_loss: float
    nearest: str


Report = Callable[[Progress], None]
Notify = Callable[[str], None]
StopAsked = Callable[[], bool]


def train_run(
    prepared: PreparedRun,
    run: RunDirectory,
    *,
    report: Report,
    notify: Notify,
    stop_asked: StopAsked,
    on_damage: OnDamage,
    argv: list[str],
    own: OwnCode,
    parent: RunDirectory | None = None,
) -> None:
    """Train to the last step, or until the loss is no longer finite, and write the manifest. Needs the run's lock.

    A branch that has no checkpoint of its own yet begins in its parent's state.
    """
    training, config = prepared.training, prepared.config
    model = prepared.engine.decoder
    worded = as_stored(config, run, on_damage=on_damage)
    run.start(
        worded,
        identity=run_identity(config),
        coordinates={**prepared.evaluator.coordinates(), **metric_coordinates(own.metrics)},
        attributes={**prepared.attributes(), "preset": worded["preset"]},
        on_damage=on_damage,
    )
    checkpoint = run.latest_checkpoint(on_damage=on_damage)
    run.discard_after(-1 if checkpoint is None else checkpoint.step)
    if checkpoint is not None:
        prepared.resume(checkpoint)
    elif parent is not None:
        begin_branch(prepared, parent, notify=notify)
    started = now()
    _log_beginning(prepared, run, "started" if checkpoint is None else "resumed", notify=notify)
    if config.measure.importance is not None:
        notify(f"{config.experiment}: {_importance_cost(config)}")
    recorder = Recorder(prepared.evaluator, config.measure, last=config.train.steps, own=own)

    def save(training: Training) -> None:
        recorder.flush(run, training.step)
        reached = prepared.state()
        run.write_checkpoint(reached.step, arrays=reached.arrays, state=reached.state)
        run.prune_checkpoints(keep_every=config.train.keep_every)

    def observe(training: Training) -> None:
        if (record := recorder.observe(training)) is not None:
            nearest = prepared.evaluator.function.names[int(np.argmin(record["kl"]))] if "kl" in record else "-"
            loss, excess = float(record["loss"][-1]), float(record.get("excess_loss", np.nan))
            report(Progress(config.experiment, training.step, config.train.steps, loss, excess, nearest))
        if stop_asked() and training.step < config.train.steps:
            if training.step > training.first:
                save(training)
            run.log("interrupted", {"step": training.step})
            raise Interrupted(
                f"interrupted at step {training.step} of {config.train.steps}; the same command resumes it"
            )

    try:
        advance(training, rows=prepared.rows, validate=prepared.evaluator.validation_loss, observe=observe, save=save)
        status = "finished"
        if training.step == training.first:
            save(training)
    except Diverged:
        status = "diverged"
        if all(bool(torch.isfinite(p).all()) for p in model.parameters()):
            save(training)
        else:
            recorder.flush(run, training.step)
    run.log(status, {"step": training.step})
    run.finish(
        describe_run(
            status="finished" if status == "finished" else "diverged",
            steps=training.step,
            device=config.compute.device,
            threads=config.compute.threads,
            argv=argv,
            started=started,
            ended=now(),
            engine=prepared.engine.name,
        )
    )


def _importance_cost(config: RunConfig) -> str:
    """What head importance costs; heads share all that is computed before their own block."""
    measure, model = config.measure, config.model
    assert measure.importance is not None
    cost = cost_text([model.heads] * model.blocks, measure.importance_of)
    when = when_text(measure.importance, "evaluation")
    about = readable(importance_seconds(config))
    return f"head importance takes at most {cost} of the test sequences on the reference path, {when}: about {about}"


def _log_beginning(
    prepared: PreparedRun, run: RunDirectory, event: Literal["started", "resumed"], *, notify: Notify
) -> None:
    """Log with which kernel the run goes on from here, and say once if that changed since it was begun."""
    engine = prepared.engine
    fields: dict[str, Any] = {"step": prepared.training.step, "engine": engine.name}
    if (present := kernel_of(engine)) is not None:
        fields["kernel"] = present
    if event == "resumed" and (change := kernel_change(run, engine)) is not None:
        fields["note"] = change
        notify(f"{prepared.config.experiment}: {change}")
    run.log(event, fields)
