"""One run from config to stored trajectory: wires the training loop to the task, the measurement and the store.

The run directory is the truth. Executing a finished run reads it, an unfinished one resumes it, and what a run needs
from other runs (restricted-context models) is executed first.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwise.core.config import validated
from headwise.core.errors import ConfigError, CorruptData, Interrupted
from headwise.core.seeds import Stream, generator, integer_seed
from headwise.measure.evaluation import Evaluator
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine
from headwise.model.initialise import initialise
from headwise.model.paths import choose, make_engine
from headwise.model.views import as_sequences, first_target, positions_needed, view
from headwise.store import OnDamage, RunDirectory, check_writable, describe_run, now
from headwise.study.config import RunConfig, window_config
from headwise.study.place import place
from headwise.study.recorder import Recorder
from headwise.task.chain import Task, build_task, sample
from headwise.task.predictors import predictor, prefix_names
from headwise.training.batches import finite_batches, fresh_batches
from headwise.training.loop import Diverged, Training, advance
from headwise.training.state import load_weights, pack, unpack


@dataclass(frozen=True)
class Progress:
    """What a progress display is told after a measurement."""

    experiment: str
    step: int
    steps: int
    loss: float
    excess_loss: float
    nearest: str


Report = Callable[[Progress], None]
Notify = Callable[[str], None]
StopAsked = Callable[[], bool]


def execute(
    config: RunConfig,
    out: Path | str,
    *,
    report: Report = lambda progress: None,
    notify: Notify = lambda line: None,
    stop_asked: StopAsked = lambda: False,
    on_damage: OnDamage = "refuse",
    argv: list[str] | None = None,
) -> RunDirectory:
    """Bring a run to its end, from wherever it stands, and return its directory.

    `report` hears of every measurement, `notify` gets what a person should know once. Raises `Interrupted` between two
    steps once `stop_asked` answers yes; the state is saved before.
    """
    run = RunDirectory(place(config, out))
    if on_damage == "refuse" and run.read_manifest() is not None:
        return run
    check_writable(out)
    windows: dict[int, RunDirectory] = {}
    for window in config.measure.windows:
        restricted = window_config(config, window)
        windows[window] = execute(
            restricted, out, report=report, notify=notify, stop_asked=stop_asked, on_damage=on_damage, argv=argv
        )
    config = _with_stored_compute(config, run, on_damage=on_damage)
    choice = choose(config.model, config.compute)
    if choice.path == "reference" and config.compute.path != "reference":
        notify(f"{config.experiment}: computed on the reference path, slower: {choice.why}")
    torch.set_num_threads(config.compute.threads)
    if run.path.is_dir():
        with run.writing():  # whoever waits for a busy run should not draw its data each time
            pass
    lab = Laboratory(config, windows)
    with run.writing():
        if on_damage == "refuse" and run.read_manifest() is not None:
            return run
        _train(lab, run, report=report, stop_asked=stop_asked, on_damage=on_damage, argv=argv or sys.argv)
    return run


class Laboratory:
    """Everything of a run that is made from its config alone."""

    def __init__(self, config: RunConfig, windows: dict[int, RunDirectory]) -> None:
        self.task = build_task(config.task, config.stream("task"))
        data_seed = config.stream("data")
        self.test = sample(self.task, config.measure.test_samples, generator(data_seed, Stream.TEST))
        decoder = new_decoder(config)
        initialise(decoder, integer_seed(config.stream("init"), Stream.INIT))
        self.engine = make_engine(
            decoder, config.compute, dropout_seed=integer_seed(config.stream("dropout"), Stream.DROPOUT)
        )
        self.config = config.model_copy(
            update={"compute": config.compute.model_copy(update={"path": self.engine.name})}
        )
        self.training = Training(self.engine, config.train)
        self.evaluator = self._evaluator(windows)
        if config.train.data == "fresh":
            self.batches = fresh_batches(lambda count, rng: sample(self.task, count, rng), config.train, data_seed)
        else:
            sequences = sample(self.task, config.train.samples, generator(data_seed, Stream.DATA, 0))
            self.batches = finite_batches(torch.from_numpy(sequences), config.train, config.stream("batches"))

    def rows(self, step: int) -> tuple[Tensor, Tensor]:
        """Inputs and targets of one step."""
        seen = view(self.batches(step), self.config.model, predicted=self.config.task.T)
        device = self.config.compute.device
        return seen.inputs.to(device), seen.targets.to(device)

    def attributes(self) -> dict[str, object]:
        """What a trajectory says about its origin."""
        return {
            "source": "training",
            "experiment": self.config.experiment,
            "preset": self.config.preset,
            "seed": self.config.seed,
            "groups": [list(group) for group in self.task.lags],
            "alpha": [list(weights) for weights in self.task.alpha],
            "teacher_loss": self.evaluator.function.teacher_loss,
        }

    def _evaluator(self, windows: dict[int, RunDirectory]) -> Evaluator:
        config, task = self.config, self.task
        seen = view(torch.from_numpy(self.test), config.model, predicted=config.task.T)
        device = config.compute.device
        seen = seen._replace(inputs=seen.inputs.to(device), targets=seen.targets.to(device))
        names = prefix_names(task) + [f"bayes_{i}" for i in config.measure.bayes]
        tables = {name: predictor(task, name, seed=config.stream("data"))(self.test) for name in names}
        tables |= {f"window_{c}": window_predictions(run, self.test) for c, run in windows.items()}
        start = first_target(config.model, order=config.task.w)
        shape = (*seen.targets.shape, config.task.d)
        rows = {name: table[:, start:].reshape(shape) for name, table in tables.items()}
        return Evaluator(self.engine, task=task, test=seen, predictors=rows, teacher=rows[prefix_names(task)[-1]])


def new_decoder(config: RunConfig) -> Decoder:
    """The model of a run, not yet initialised."""
    device = usable_device(config.compute.device)
    positions = positions_needed(config.model, order=config.task.w, predicted=config.task.T)
    decoder = Decoder(config.model, dictionary=config.task.d, positions=positions)
    return decoder.to(dtype=getattr(torch, config.compute.dtype), device=device)


def usable_device(name: str) -> torch.device:
    """A torch device that is really there."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"--device {name} cannot be used here; take cpu or another torch device ({reason})") from None
    return device


def trained_engine(run: RunDirectory) -> tuple[RunConfig, Engine]:
    """A stored run's model with its latest weights."""
    config = validated(RunConfig, run.read_config())
    checkpoint = run.latest_checkpoint()
    if checkpoint is None:
        raise ConfigError(f"{run.path} has no checkpoint yet; let it reach one")
    decoder = new_decoder(config)
    load_weights(checkpoint.arrays, decoder)
    return config, make_engine(decoder, config.compute, dropout_seed=0)


def window_predictions(run: RunDirectory, sequences: np.ndarray) -> np.ndarray:
    """Log-probabilities, (sequences, T, d), of a stored restricted-context model."""
    config, engine = trained_engine(run)
    seen = view(torch.from_numpy(sequences), config.model, predicted=config.task.T)
    parts: list[Tensor] = []
    engine.evaluate(
        seen.inputs.to(config.compute.device),
        counted=seen.counted,
        visit=lambda part, logits: parts.append(logits.double().log_softmax(-1).cpu()),
    )
    whole = as_sequences(torch.cat(parts), config.model, order=config.task.w, predicted=config.task.T)
    return whole.reshape(len(sequences), -1, config.task.d).numpy()


def _train(
    lab: Laboratory, run: RunDirectory, *, report: Report, stop_asked: StopAsked, on_damage: OnDamage, argv: list[str]
) -> None:
    training, config = lab.training, lab.config
    model = lab.engine.decoder
    run.start(
        _as_stored(config, run, on_damage=on_damage),
        coordinates=lab.evaluator.coordinates(),
        attributes=lab.attributes(),
        on_damage=on_damage,
    )
    checkpoint = run.latest_checkpoint(on_damage=on_damage)
    run.discard_after(-1 if checkpoint is None else checkpoint.step)
    if checkpoint is not None:
        unpack(
            checkpoint.arrays, checkpoint.state, model=model, optimiser=training.optimiser, schedule=training.schedule
        )
        training.step = checkpoint.step
        training.batch_loss = float.fromhex(checkpoint.state["batch_loss"])
    started = now()
    run.log("started" if checkpoint is None else "resumed", {"step": training.step, "engine": lab.engine.name})
    recorder = Recorder(lab.evaluator, config.measure, last=config.train.steps)

    def save(training: Training) -> None:
        recorder.flush(run, training.step)
        arrays, state = pack(model, training.optimiser, training.schedule)
        run.write_checkpoint(training.step, arrays=arrays, state={**state, "batch_loss": training.batch_loss.hex()})
        run.prune_checkpoints(keep_every=config.train.keep_every)

    def observe(training: Training) -> None:
        if (record := recorder.observe(training)) is not None:
            nearest = lab.evaluator.function.names[int(np.argmin(record["kl"]))]
            loss, excess = float(record["loss"][-1]), float(record["excess_loss"])
            report(Progress(config.experiment, training.step, config.train.steps, loss, excess, nearest))
        if stop_asked() and training.step < config.train.steps:
            if training.step:
                save(training)
            run.log("interrupted", {"step": training.step})
            raise Interrupted(
                f"interrupted at step {training.step} of {config.train.steps}; the same command resumes it"
            )

    try:
        advance(training, rows=lab.rows, validate=lab.evaluator.validation_loss, observe=observe, save=save)
        status = "finished"
        if training.step == 0:
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
            engine=lab.engine.name,
        )
    )


def _with_stored_compute(config: RunConfig, run: RunDirectory, *, on_damage: OnDamage) -> RunConfig:
    """Resume on the path, threads and device a run was begun with: another order of sums gives other last bits."""
    if not run.config_path.exists():
        return config
    try:
        stored = validated(RunConfig, run.read_config()).compute
    except CorruptData:
        if on_damage == "refuse":
            raise
        return config
    asked = config.compute.path
    if asked not in ("auto", stored.path):
        raise ConfigError(
            f"--path {asked}: {run.path} was begun with --path {stored.path}; resume with that or choose another --out"
        )
    return config.model_copy(update={"compute": stored})


def _as_stored(config: RunConfig, run: RunDirectory, *, on_damage: OnDamage) -> dict[str, Any]:
    """A config as the run's file words it: begun before some setting existed, a run is the same while that is unset."""
    if run.config_path.exists() and on_damage == "refuse":
        stored = run.read_config()
        if validated(RunConfig, stored) == config:
            return stored
    return config.model_dump(mode="json")


__all__ = [
    "Laboratory",
    "Progress",
    "Task",
    "execute",
    "new_decoder",
    "trained_engine",
    "window_predictions",
]
