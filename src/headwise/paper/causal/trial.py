"""One seed and one draw of the task, in which a causal claim makes its branches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headwise.core.config import NO_CHANGES
from headwise.measure.config import Schedule
from headwise.paper.scale import MINIMAL, Scale
from headwise.store import RunDirectory, load_trajectory
from headwise.study.config import RunConfig
from headwise.study.experiments import experiment

if TYPE_CHECKING:
    import xarray as xr

    from headwise.study.branch import Branch

TAKEN = 0.5
"""Share of a head's attention from which on it has taken a group up."""

SHAM_BATCHES = 1000
"""Added to the seed of the order of the data in a sham: nothing is done, but other batches follow."""


class Taking(NamedTuple):
    """A head (from 1) takes a group (from 1) up at a step."""

    step: int
    head: int
    group: int


@dataclass(frozen=True)
class Trial:
    """The minimal model of one seed; `draw` 0 is the published task, others are drawn for themselves."""

    seed: int
    draw: int
    scale: Scale
    out: Path
    notify: Callable[[str], None] = lambda line: None
    stop_asked: Callable[[], bool] = lambda: False

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

    def parent(self, *, heads: int = 3) -> tuple[Path, xr.Dataset]:
        """The run to which nothing is done."""
        from headwise.study.runner import execute

        run: RunDirectory = execute(self.config(heads=heads), self.out, stop_asked=self.stop_asked)
        return run.path, load_trajectory(run.path)

    def branch(
        self,
        run: Path,
        at: int,
        *,
        do: Sequence[str] = (),
        until: int | None = None,
        steps: int | None = None,
        changes: Mapping[str, Any] = NO_CHANGES,
    ) -> Branch:
        """A branch of a run of this trial."""
        from headwise.study.branch import branch

        [found] = branch(
            run,
            at,
            do=do,
            until=until,
            steps=steps,
            changes=changes,
            out=self.out,
            progress="off",
            notify=self.notify,
            stop_asked=self.stop_asked,
        ).branches
        return found

    def sham(self, run: Path, at: int, *, steps: int | None = None) -> Branch:
        """The null: nothing is done, the batches after `at` come in another order."""
        return self.branch(run, at, do=["sham"], steps=steps, changes={"seeds.batches": self.seed + SHAM_BATCHES})


def takings(trajectory: xr.Dataset, *, after: int = 0) -> list[Taking]:
    """When each head first has more than half of its attention on a group at a step after `after`, in order."""
    shares = trajectory["attention_by_group"].isel(block=0).transpose("step", "head", "group").values
    steps = trajectory["step"].values
    found = []
    for head in range(shares.shape[1]):
        for group in range(shares.shape[2]):
            on = (shares[:, head, group] > TAKEN) & (steps > after)
            if on.any():
                found.append(Taking(int(steps[on.argmax()]), head + 1, group + 1))
    return sorted(found)


def first_taking(trajectory: xr.Dataset, group: int, *, after: int = 0, but: Sequence[int] = ()) -> Taking | None:
    """The first head, of those not in `but`, that takes a group up after a step."""
    return next((t for t in takings(trajectory, after=after) if t.group == group and t.head not in but), None)


def excess_at(trajectory: xr.Dataset, step: int) -> float:
    """The excess loss of the last evaluation up to a step."""
    before = trajectory["excess_loss"].values[trajectory["step"].values <= step]
    return float(before[-1])


def on_grid(step: int) -> int:
    """The measured step at or before this one."""
    return step - step % 10
