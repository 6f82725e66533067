"""The state in which a branch begins: its parent's at that step, read where it is kept, computed again where it is not.

What is computed again is compared with the parent's own records, so that a branch never starts from another run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from headwise.actions.action import HeldAction
from headwise.core.config import validated
from headwise.core.errors import ConfigError, CorruptData
from headwise.store import Checkpoint, RunDirectory
from headwise.study.branch_parent import find_parent
from headwise.study.config import RunConfig
from headwise.study.cost import START_SECONDS, readable, seconds_of_steps
from headwise.study.kernel_change import kernel_change
from headwise.study.prepared_run import PreparedRun
from headwise.training.loop import Training, advance

OTHER_KERNEL = 1e-3
"""How far losses may differ that another kernel computes again."""


@dataclass(frozen=True)
class Way:
    """From where the state of a run at some step is reached: a checkpoint, the beginning, or the run before it."""

    step: int
    """The step from which it is computed again."""
    checkpoint: int | None
    again: int
    """Steps to compute again, those of runs before this one included."""


def stored_config(run: RunDirectory) -> RunConfig:
    """The config of a stored run, without the caller's own metrics, which change nothing that is trained."""
    run.require_begun()
    content = run.read_config()
    if "train" not in content:
        raise ConfigError(f"{run.path} is no training run; `headwise list --runs DIR` shows which are")
    config = validated(RunConfig, content)
    for key, code in ({} if config.own is None else config.own.flat()).items():
        if not key.startswith("metrics["):
            raise ConfigError(f"{run.path} was made with code of its own, {code.name} ({key}), so it has no branches")
    return config.changed({"own": None})


def reached(run: RunDirectory) -> int:
    """The last step of which a run's state can be had."""
    manifest = run.read_manifest()
    return int(manifest["steps"]) if manifest is not None else max(run.checkpoints.steps(), default=0)


def way_to(run: RunDirectory, step: int) -> Way:
    """The shortest way to the state of a run after `step` steps; `ConfigError` for a step beyond it."""
    last = reached(run)
    if step > last:
        raise ConfigError(f"--at {step}: {run.path} has {last} steps; give one of 0 to {last}")
    config = stored_config(run)
    before = [kept for kept in run.checkpoints.steps() if kept <= step]
    if before:
        return Way(before[-1], before[-1], step - before[-1])
    if config.branch is None:
        return Way(0, None, step)
    if step < config.branch.step:
        raise ConfigError(f"--at {step}: {run.path} is a branch that begins at {config.branch.step}; take its parent")
    before_it = way_to(parent_of(run, config), config.branch.step)
    return Way(config.branch.step, None, step - config.branch.step + before_it.again)


def parent_of(run: RunDirectory, config: RunConfig) -> RunDirectory:
    """The run that a stored branch leaves, in the same folder of runs."""
    assert config.branch is not None
    return find_parent(config.branch.parent, run.path.parent.parent, of=run.path)


def state_at(run: RunDirectory, step: int, *, notify: Callable[[str], None]) -> Checkpoint:
    """The state of a run after `step` steps."""
    way = way_to(run, step)
    if way.checkpoint == step:
        return run.checkpoints.read(step)
    config = stored_config(run).changed(
        {"train.steps": step, "measure.windows": (), "measure.window_samples": None, "measure.bayes": ()}
    )
    torch.set_num_threads(config.compute.threads)
    prepared = PreparedRun(config, {})
    if way.checkpoint is not None:
        prepared.resume(run.checkpoints.read(way.checkpoint))
    elif config.branch is not None:
        begin_branch(prepared, parent_of(run, config), notify=notify)
    changed = kernel_change(run, prepared.engine)
    if changed is not None:
        notify(f"{run.path}: {changed}")
    compare = _comparison(run, tolerance=0.0 if changed is None else OTHER_KERNEL)
    training = prepared.training
    advance(
        training,
        rows=prepared.rows,
        validate=prepared.evaluator.validation_loss,
        observe=compare,
        save=lambda training: None,
    )
    return prepared.state()


def begin_branch(prepared: PreparedRun, parent: RunDirectory, *, notify: Callable[[str], None]) -> None:
    """Put a prepared branch into its parent's state and do what it does there."""
    branch = prepared.config.branch
    assert branch is not None
    assert prepared.held is not None
    before = stored_config(parent)
    state = state_at(parent, branch.step, notify=notify)
    prepared.restore(state)
    if before.train.lr != prepared.config.train.lr:
        for group in prepared.training.optimiser.param_groups:
            group["lr"] = prepared.config.train.lr
    there = [(number, str(action)) for number, action in going_on(before, branch.step)]
    numbers = []
    for text in branch.held:  # in order, as two actions may have the same words and hold what they took at other steps
        number, _ = there.pop([said for _, said in there].index(text))
        numbers.append(number)
    prepared.held.begin(state.arrays, numbers)


def going_on(config: RunConfig, step: int) -> list[tuple[int, HeldAction]]:
    """What a run, if it is a branch, still holds after `step` steps, by its number there."""
    return [] if config.branch is None else config.branch.going_on(step, end=config.train.steps)


def _comparison(run: RunDirectory, *, tolerance: float) -> Callable[[Training], None]:
    """Compares the loss of each batch that the run recorded with the one computed again: it depends on every weight."""
    metrics = run.read_metrics()
    recorded = dict(zip(metrics.steps.tolist(), metrics.variables["loss"][:, 0].tolist(), strict=True))

    def compare(training: Training) -> None:
        stored = recorded.get(training.step)
        if stored is None or math.isnan(stored):
            return
        found = training.batch_loss
        if abs(found - stored) > tolerance * max(1.0, abs(stored)):
            raise CorruptData(
                f"{run.path}: computed again, step {training.step} has the loss {found!r} where {stored!r} is stored; "
                "this machine computes another run (versions, processor), so branch at a step whose checkpoint is kept"
            )

    return compare


def cost_text(way: Way, step: int, *, parent: RunConfig, branch: RunConfig) -> str:
    """One line about what a branch computes, and what must be computed again before it begins."""
    ahead = branch.train.steps - step
    about = readable(seconds_of_steps(parent, way.again) + seconds_of_steps(branch, ahead) + START_SECONDS)
    if way.again == 0:
        return f"branch at step {step}: {ahead} steps, about {about}"
    again = "1 step is" if way.again == 1 else f"{way.again} steps are"
    source = "the beginning" if way.checkpoint is None else f"the checkpoint of step {way.checkpoint}"
    return (
        f"branch at step {step}: {again} computed again from {source}, then {ahead} steps, about {about} "
        "(runs with --train.keep_every keep more checkpoints)"
    )
