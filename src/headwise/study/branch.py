"""`branch`: a run goes on from one of its steps, with something done to its heads, as a run of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.actions.action import HeldAction
from headwise.actions.text import parse_action, require_texts
from headwise.actions.together import check_together
from headwise.core.branch_words import done_in
from headwise.core.config import NO_CHANGES
from headwise.core.errors import ConfigError
from headwise.core.keys import flatten
from headwise.core.named_options import named_options
from headwise.core.seeds import require_seeds
from headwise.store import OnDamage, RunDirectory, load_trajectory
from headwise.store.given_source import given_source
from headwise.study.config import BRANCH, RunConfig
from headwise.study.shown_progress import Shown, shown_progress

if TYPE_CHECKING:
    import xarray as xr

    from headwise.study.train_run import Report

FIXED = (
    "experiment", "preset", "seed", "branch", "model", "task.d", "task.w", "task.T", "task.h", "train.optimizer",
    "train.options", "train.schedule", "compute.dtype", "seeds.init", "seeds.task",
)  # fmt: skip
"""Keys, or sections, that a branch shares with its parent: another value would be another model or memory."""


@dataclass(frozen=True, eq=False)
class Branch:
    """One branch on disk, with the run that it left."""

    run: Path
    parent: Path
    step: int
    actions: tuple[str, ...]
    held: tuple[str, ...]
    """What its parent, a branch itself, held at this step and what therefore goes on."""
    changes: Mapping[str, Any]
    """Config keys that were given a value of their own."""
    trajectory: xr.Dataset = field(repr=False)
    parent_trajectory: xr.Dataset = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """`run`, `parent`, `step`, `actions`, `held`, `changes`, and the last `excess_loss`, also of its parent."""
        last, excess, before = self._ends()
        return {
            "run": str(self.run),
            "parent": str(self.parent),
            "step": self.step,
            "actions": list(self.actions),
            "held": list(self.held),
            "changes": dict(self.changes),
            "last_step": last,
            "excess_loss": excess,
            "parent_excess_loss": before,
        }

    def __str__(self) -> str:
        last, excess, before = self._ends()
        done = done_in({"actions": self.actions, "held": self.held}, self.changes)
        compared = "" if before is None else f" (parent {before:.4f})"
        return (
            f"{self.run}\n  branch of {self.parent} at step {self.step}: {done}\n"
            f"  excess loss {excess:.4f} at step {last}{compared}"
        )

    def _ends(self) -> tuple[int, float, float | None]:
        last = int(self.trajectory["step"].values[-1])
        parent = self.parent_trajectory
        same = parent["step"].values == last
        before = float(parent["excess_loss"].values[same][0]) if same.any() else None
        return last, float(self.trajectory["excess_loss"].values[-1]), before


@dataclass(frozen=True, eq=False)
class Branches:
    """The same branch of one run or of several seeds; `str` of this is what `headwise branch` prints."""

    branches: tuple[Branch, ...]

    def to_json(self) -> dict[str, Any]:
        """`branches`, one object for each seed."""
        return {"branches": [branch.to_json() for branch in self.branches]}

    def __str__(self) -> str:
        return "\n".join(map(str, self.branches))


@named_options
def branch(
    run: Path | str,
    at: int,
    *,
    do: Sequence[str] = (),
    until: int | None = None,
    steps: int | None = None,
    seeds: Sequence[int] | None = None,
    changes: Mapping[str, Any] = NO_CHANGES,
    out: Path | str | None = None,
    on_damage: OnDamage = "refuse",
    progress: Shown = "auto",
    report: Report | None = None,
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: Callable[[], bool] = lambda: False,
) -> Branches:
    """Go on with a stored run from step `at`, with actions such as `freeze:heads=1` done to it; a run like any other.

    Actions that hold something do so until step `until`, or to the end at `steps` (the parent's by default). `changes`
    are config keys with other values from `at` on, such as `task.m`. With `seeds` the same is done to the same run of
    each of these seeds, which is trained first where it is missing. Without actions and changes a branch equals its
    parent bit for bit. Branches are kept below `out`, by default where the parent is.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from headwise import branch, experiment, train
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 8, "measure.test_samples": 30}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     parent = train(experiment("minimal", "redrawn", changes=small), out=out, progress="off")
    ...     [run] = Path(out).glob("minimal/*")
    ...     [held] = branch(run, 4, do=["freeze:heads=1"], progress="off").branches
    >>> held.actions, int(held.trajectory.step[0])
    (('freeze:heads=1',), 4)
    """
    from headwise.study.branch_start import cost_text, stored_config, way_to
    from headwise.study.run_location import run_location
    from headwise.study.runner import execute

    if seeds is not None:
        require_seeds(seeds)
    told = shown_progress(progress) if report is None else report
    first = RunDirectory(given_source(run))
    config = stored_config(first)
    root = first.path.parent.parent

    def computed(wanted: RunConfig, parent: RunDirectory | None, place: Path | str = root) -> RunDirectory:
        return execute(
            wanted, place, report=told, notify=notify, stop_asked=stop_asked, on_damage=on_damage, parent=parent
        )

    branch_config(first, at, do=do, until=until, steps=steps, changes=changes)  # a mistake is told before anything runs
    wanted_seeds = (config.seed,) if seeds is None else seeds
    parents = [first if seed == config.seed else run_of_seed(first, seed, computed) for seed in wanted_seeds]
    found = []
    for parent in parents:
        wanted = branch_config(parent, at, do=do, until=until, steps=steps, changes=changes)
        place = out or root
        if RunDirectory(run_location(wanted, place)).read_manifest() is None:
            notify(cost_text(way_to(parent, at), at, parent=stored_config(parent), branch=wanted))
            if (why := reference_reason(wanted)) is not None:
                notify(why)
        finished = computed(wanted, parent, place)
        assert wanted.branch is not None
        found.append(
            Branch(
                finished.path,
                parent.path,
                wanted.branch.step,
                wanted.branch.actions,
                wanted.branch.held,
                {key: _value(wanted, key) for key in flatten(changes, RunConfig)},
                load_trajectory(finished.path),
                load_trajectory(parent.path),
            )
        )
    return Branches(tuple(found))


def _value(config: RunConfig, key: str) -> Any:
    """What a config has under a dotted key, as JSON has it."""
    return functools.reduce(lambda content, part: content[part], key.split("."), config.model_dump(mode="json"))


def run_of_seed(
    run: RunDirectory, seed: int, computed: Callable[[RunConfig, RunDirectory | None], RunDirectory]
) -> RunDirectory:
    """The same run of another seed; a branch leaves the run of that seed which corresponds to its own parent."""
    from headwise.study.branch_parent import run_digest
    from headwise.study.branch_start import parent_of, stored_config

    config = stored_config(run).changed({"seed": seed})
    if config.branch is None:
        return computed(config, None)
    parent = run_of_seed(parent_of(run, config), seed, computed)
    about = {**config.branch.model_dump(), "parent": run_digest(parent)}
    return computed(config.changed({"branch": about}), parent)


def branch_config(
    parent: RunDirectory,
    at: int,
    *,
    do: Sequence[str] = (),
    until: int | None = None,
    steps: int | None = None,
    changes: Mapping[str, Any] = NO_CHANGES,
) -> RunConfig:
    """The config of a branch: its parent's with the changes, the step and the actions."""
    from headwise.study.branch_parent import run_digest
    from headwise.study.branch_start import going_on, reached, stored_config

    _check_given(at, do, until=until, steps=steps, changes=changes)
    at, until, steps = int(at), None if until is None else int(until), None if steps is None else int(steps)
    config = stored_config(parent)
    last = reached(parent)
    if not 0 <= at <= last:
        raise ConfigError(f"--at {at}: {parent.path} has {last} steps; give one of 0 to {last}")
    for key in flatten(changes, RunConfig):
        if any(key == fixed or key.startswith(f"{fixed}.") for fixed in FIXED):
            raise ConfigError(f"{key}: a branch shares this with its parent; train a run of its own instead")
    actions = tuple(str(parse_action(text, until=until)) for text in do)
    if until is not None and not any("until=" in text for text in actions):
        raise ConfigError(f"--until {until}: no action holds anything that could end there; drop it")
    end = {} if steps is None else {"train.steps": steps}
    name = config.experiment.removesuffix(BRANCH)[: 64 - len(BRANCH)] + BRANCH
    held = tuple(str(action) for _, action in going_on(config, at))
    about = {"parent": run_digest(parent), "step": at, "actions": actions, "held": held}
    wanted = config.changed({"experiment": name, "branch": about, **changes, **end})
    assert wanted.branch is not None
    try:
        check_together(wanted.branch.parsed(), wanted.model)
    except ConfigError as error:
        raise ConfigError(f"{error}" + (f" (its parent holds {', '.join(held)})" if held else "")) from None
    return wanted if reference_reason(wanted) is None else wanted.changed({"compute.path": "reference"})


def _check_given(
    at: int, do: Sequence[str], *, until: int | None, steps: int | None, changes: Mapping[str, Any]
) -> None:
    """What Python takes where a command line would not: steps that are no whole numbers, actions that are no text."""
    for name, step in {"at": at, "until": until, "steps": steps}.items():
        given = name == "at" or step is not None
        if given and (isinstance(step, bool) or not isinstance(step, Integral)):
            raise ConfigError(f"{name} = {step!r:.40} must be a step, a whole number")
    require_texts(do)
    if steps is not None and "train.steps" in flatten(changes, RunConfig):
        raise ConfigError(f"steps = {steps} and train.steps both say where the branch ends; give one of them")


def reference_reason(config: RunConfig) -> str | None:
    """Why only the reference path computes a branch, in one line; `None` if every path does."""
    assert config.branch is not None
    for action in config.branch.parsed():
        if isinstance(action, HeldAction) and (why := action.only_on_reference(config.model)) is not None:
            return f"{action} is computed on the reference path, slower: {why}"
    return None
