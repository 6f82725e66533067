"""One seed and one draw of the task, in which a causal claim makes its branches.

All claims share the run of a trial and its shams. A branch is computed only as far as it takes to answer what a claim
asks, which is the same answer as that of the whole branch; asked for more, it goes on from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwise.core.config import NO_CHANGES
from headwise.core.errors import Interrupted
from headwise.measure.config import Schedule
from headwise.paper.causal.readings import Enough, only_the_end
from headwise.paper.scale import MINIMAL, Scale
from headwise.store import RunDirectory, load_trajectory
from headwise.study.config import RunConfig
from headwise.study.experiments import experiment
from headwise.study.run_location import run_location

if TYPE_CHECKING:
    import xarray as xr

SHAM_BATCHES = 1000
"""Added to the seed of the order of the data in a sham: nothing is done, but other batches follow."""


class Computed(NamedTuple):
    """A run or a branch, as far as it was asked for."""

    run: Path
    trajectory: xr.Dataset


@dataclass(frozen=True)
class Trial:
    """The minimal model of one seed; `draw` 0 is the published task, others are drawn for themselves."""

    seed: int
    draw: int
    scale: Scale
    out: Path
    stop_asked: Callable[[], bool] = lambda: False
    used: list[Path] = field(default_factory=list)
    """Every run and branch that was asked for."""

    def config(self, *, heads: int = 3) -> RunConfig:
        """The run that is branched: as in the reproduction, but with checkpoints that are kept."""
        size = MINIMAL[self.scale]
        base = experiment("minimal", "published" if self.draw == 0 else "redrawn")
        return base.changed(
            {
                "experiment": "causal" if heads == 3 else f"causal-heads-{heads}",
                "seed": self.seed,
                "seeds.task": None if self.draw == 0 else self.draw,
                "model.heads": heads,
                "train.batch": size.batch,
                "train.steps": size.steps,
                "train.checkpoint_every": 50,
                "train.keep_every": 50,
                "measure.test_samples": size.test,
                "measure.at": Schedule(every=size.every),
                "measure.snapshots": Schedule(every=500),
            }
        )

    def parent(self, *, heads: int = 3, enough: Enough = only_the_end) -> Computed:
        """The run to which nothing is done."""
        return self._computed(self.config(heads=heads), enough=enough)

    def branch(
        self,
        run: Path,
        at: int,
        *,
        do: Sequence[str] = (),
        until: int | None = None,
        steps: int | None = None,
        changes: Mapping[str, Any] = NO_CHANGES,
        enough: Enough = only_the_end,
    ) -> Computed:
        """A branch of a run of this trial."""
        from headwise.study.branch import branch_config

        parent = RunDirectory(run)
        wanted = branch_config(parent, at, do=do, until=until, steps=steps, changes=changes)
        return self._computed(wanted, parent=parent, enough=enough)

    def sham(self, run: Path, at: int, *, steps: int | None = None, enough: Enough = only_the_end) -> Computed:
        """The null: nothing is done, the batches after `at` come in another order."""
        changes = {"seeds.batches": self.seed + SHAM_BATCHES}
        return self.branch(run, at, do=["sham"], steps=steps, changes=changes, enough=enough)

    def _computed(self, config: RunConfig, *, parent: RunDirectory | None = None, enough: Enough) -> Computed:
        from headwise.study.runner import execute

        path = run_location(config, self.out)
        self.used.append(path)
        answer = _Answer(path, enough)
        if not answer.look():
            try:
                execute(
                    config,
                    self.out,
                    report=lambda progress: answer.measured(),
                    stop_asked=lambda: self.stop_asked() or answer.known(),
                    parent=parent,
                )
            except Interrupted:
                if not answer.found:
                    raise
        return Computed(path, load_trajectory(path))


class _Answer:
    """Whether what of a run has reached the disk is enough; it is looked at once for every checkpoint."""

    def __init__(self, path: Path, enough: Enough) -> None:
        self.found = False
        self._run, self._enough = RunDirectory(path), enough
        self._due = False
        self._seen: int | None = None

    def measured(self) -> None:
        self._due = True

    def known(self) -> bool:
        if self._due:
            self._due = False
            self.look()
        return self.found

    def look(self) -> bool:
        latest = max(self._run.checkpoints.steps(), default=None) if self._run.path.is_dir() else None
        if latest is not None and latest != self._seen:
            self._seen = latest
            self.found = self._enough(load_trajectory(self._run.path))
        return self.found
