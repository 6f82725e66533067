"""`sweep`: many runs over a grid of config keys and seeds; `plan_sweep` says what it would compute."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.extras import require_library
from headwise.core.named_options import named_options_beside
from headwise.core.seeds import require_seeds
from headwise.store import RunDirectory, check_writable
from headwise.store.labels import check_label, give_label
from headwise.study.cluster_config import ClusterConfig
from headwise.study.config import RunConfig, config_hash
from headwise.study.config_keys import run_config_keys
from headwise.study.cost import estimate_wall, readable
from headwise.study.executors import open_pool
from headwise.study.experiments import as_run_config
from headwise.study.grid import plan_points
from headwise.study.many import Outcome, StopAsked, missing, never, run_on_pool, with_prerequisites
from headwise.study.run_location import run_location

Axes = Mapping[str, Sequence[Any]]
"""Values by config key."""

NO_AXES: Axes = MappingProxyType({})


@dataclass(frozen=True)
class SweepPlan:
    """The runs of a sweep, checked; `str` of this is what `headwise sweep --dry-run` prints."""

    configs: tuple[RunConfig, ...] = field(repr=False)
    values: tuple[Mapping[str, Any], ...] = field(repr=False)
    """What tells each run from the others: its values of the axes, and its seed."""
    out: Path
    compared_with: int
    """Restricted-context models that the runs are compared with; they are computed too."""
    to_compute: int
    seconds: float
    """A rough estimate for what is left to compute."""

    @property
    def runs(self) -> list[Path]:
        """Where each run is kept, in the order of the plan."""
        return [run_location(config, self.out) for config in self.configs]

    @property
    def headline(self) -> str:
        """The plan in one line."""
        return (
            f"{len(self.configs)} runs, {self.compared_with} more to compare with; {self.to_compute} to compute, "
            f"about {readable(self.seconds)}"
        )

    def to_json(self) -> dict[str, Any]:
        """`runs`, the `values` of each, `to_compute` and `seconds`, ready for JSON."""
        return {
            "runs": [str(run) for run in self.runs],
            "values": [dict(values) for values in self.values],
            "to_compute": self.to_compute,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        return "\n".join(f"{run}  {_shown(values)}" for run, values in zip(self.runs, self.values, strict=True))


@dataclass(frozen=True)
class SweptRuns:
    """How each run of a sweep ended; `str` of this is what `headwise sweep` prints."""

    outcomes: tuple[Outcome, ...]
    values: tuple[Mapping[str, Any], ...] = field(repr=False)
    """What tells each run from the others: its values of the axes, and its seed."""
    out: Path

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The runs that did not finish, with the reason."""
        return tuple(outcome for outcome in self.outcomes if outcome.status != "finished")

    def to_json(self) -> dict[str, Any]:
        """`runs`: `run`, `status`, `reason` and `values` of each, ready for JSON."""
        return {
            "runs": [
                {"run": str(one.run), "status": one.status, "reason": one.reason, "values": dict(values)}
                for one, values in zip(self.outcomes, self.values, strict=True)
            ]
        }

    @property
    def summary(self) -> str:
        """How many finished, and what to do next."""
        whole = len(self.outcomes)
        return (
            f"{whole - len(self.failed)} of {whole} runs finished; "
            f"compare them with `headwise list --runs {self.out}`, gather them with `headwise collect {self.out}`"
        )

    def __str__(self) -> str:
        return "\n".join(
            f"{one.status:<8}  {one.run}  {_shown(values)}"
            for one, values in zip(self.outcomes, self.values, strict=True)
        )


@named_options_beside(run_config_keys)
def plan_sweep(
    config: RunConfig | Mapping[str, Any] | str,
    *,
    over: Axes = NO_AXES,
    zipped: Axes = NO_AXES,
    seeds: Sequence[int] = (0,),
    workers: int = 1,
    out: Path | str = "runs",
) -> SweepPlan:
    """Check every run of a sweep and estimate what it takes; nothing is computed or written.

    >>> from headwise import plan_sweep
    >>> plan = plan_sweep("minimal", over={"task.m": [1, 1.5]}, seeds=range(3), out="nowhere")
    >>> len(plan.runs), plan.to_compute
    (6, 6)
    """
    if workers < 1:
        raise ConfigError(f"--workers {workers} must be at least 1")
    require_seeds(seeds)
    base = as_run_config(config)
    points = plan_points(over, zipped)
    resolved = [base.changed(point) for point in points]
    same: dict[str, Mapping[str, Any]] = {}
    for point, one in zip(points, resolved, strict=True):
        other = same.setdefault(config_hash(one), point)
        if other is not point:
            raise ConfigError(f"the points {_shown(other)} and {_shown(point)} are the same run; name each once")
    configs = tuple(one.changed({"seed": seed}) for one in resolved for seed in seeds)
    values = tuple({**point, "seed": seed} for point in points for seed in seeds)
    whole = with_prerequisites(configs)
    left = missing(whole, out)
    return SweepPlan(configs, values, Path(out), len(whole) - len(configs), len(left), estimate_wall(left, workers))


@named_options_beside(run_config_keys)
def sweep(
    config: RunConfig | Mapping[str, Any] | str,
    *,
    over: Axes = NO_AXES,
    zipped: Axes = NO_AXES,
    seeds: Sequence[int] = (0,),
    workers: int = 1,
    executor: str = "local",
    cluster: ClusterConfig | None = None,
    out: Path | str = "runs",
    label: str | None = None,
    notify: Callable[[str], None] = lambda line: None,
    ended: Callable[[str], None] = lambda line: None,
    stop_asked: StopAsked = never,
) -> SweptRuns:
    """Train every combination of the axes `over`, with the axes `zipped` advancing together, for every seed.

    Runs that are there already are not computed again, and one that fails does not stop the others. `executor` is
    `local`, `slurm` (with the settings of `cluster`) or the address of a dask scheduler. `notify` is called with lines
    about the whole sweep, `ended` with one about each run that ends. Once `stop_asked` returns true the runs that are
    being computed are saved and `Interrupted` is raised; the same call goes on with them. `label` is what lists and
    pages call its runs once they are computed.

    >>> import tempfile
    >>> from headwise import experiment, sweep
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 8, "measure.test_samples": 30}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     swept = sweep(experiment("minimal", "redrawn", changes=small), over={"task.m": [1, 1.5]}, out=out)
    >>> [outcome.status for outcome in swept.outcomes], swept.failed
    (['finished', 'finished'], ())
    """
    label = check_label(label)
    plan = plan_sweep(config, over=over, zipped=zipped, seeds=seeds, workers=workers, out=out)
    require_library("torch")
    notify(plan.headline)
    check_writable(plan.out)
    values = {run: _shown(its) for run, its in zip(plan.runs, plan.values, strict=True)}
    began, done = time.monotonic(), 0

    def count(outcome: Outcome) -> None:
        nonlocal done
        done += 1
        reason = f"  ({outcome.reason})" if outcome.reason else ""
        what = values.get(outcome.run, "to compare with")
        seconds = time.monotonic() - began
        ended(f"{done}/{plan.to_compute}  {outcome.status}  {outcome.run}  {what}{reason}  {seconds:.0f} s")

    outcomes = run_on_pool(
        plan.configs,
        plan.out,
        pool=lambda: open_pool(executor, workers=workers, cluster=cluster),
        argv=sys.argv,
        ended=count,
        notify=notify,
        stop_asked=stop_asked,
    )
    for run in (RunDirectory(path) for path in plan.runs):
        if run.is_begun():
            give_label(run, label)
    return SweptRuns(tuple(outcomes), plan.values, plan.out)


def _shown(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in point.items())
