"""`show`: the state of a stored run and its last measurement, as values and as text; reads the store, without torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from headwise.core.named_options import named_options
from headwise.core.plain import plain
from headwise.core.readings import with_reading
from headwise.phases.importance import read_importance
from headwise.store import RunDirectory, RunStatus, load_trajectory, run_status, steps_done
from headwise.store.given_source import given_source, source_kind
from headwise.study.summary_text import summary_text

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A stored run; `str` of this is what `headwise show` prints.

    `final` has the step, the losses, distances and attention of the last evaluation, and in `copies` the pattern that
    each head of each block copies by then, as the phase report defines it (None: nothing), in
    `importance` the rise of the loss without each head where that was measured. It is empty, and there is
    no trajectory, before the first measurement. A netCDF file or a Zarr store has the status "file" and no config.
    """

    run: Path
    status: RunStatus | Literal["file"]
    steps: int
    final: dict[str, Any] = field(repr=False)
    config: dict[str, Any] = field(repr=False)
    trajectory: xr.Dataset | None = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """`run`, `status`, `steps`, `final` and `config`, ready for JSON."""
        return {
            "run": str(self.run),
            "status": self.status,
            "steps": self.steps,
            "final": self.final,
            "config": self.config,
        }

    def __str__(self) -> str:
        return summary_text(f"{self.run}  {self.status} at step {self.steps}", self.final, self.trajectory)


@named_options
def show(run: Path | str) -> RunSummary:
    """The state and the results of a stored run, finished or not, or of a trajectory in a netCDF file or Zarr store.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow, show
    >>> with tempfile.TemporaryDirectory() as out:
    ...     summary = show(keep_flow(FlowConfig(start="B", t_end=30.0), out=out).run)
    >>> summary.status, summary.steps, round(summary.final["excess_loss"], 2)
    ('finished', 30, 2.07)
    """
    place = given_source(run)
    if source_kind(place) != "directory":
        return _file_summary(place, load_trajectory(place))
    directory = RunDirectory(place)
    directory.require_begun()
    manifest = directory.read_manifest()
    trajectory = load_trajectory(place) if directory.metrics.ends() else None
    return RunSummary(
        run=directory.path,
        status=run_status(place),
        steps=manifest["steps"] if manifest else steps_done(place),
        final={} if trajectory is None else final_values(trajectory),
        config=with_reading(directory.read_config()),
        trajectory=trajectory,
    )


def _file_summary(path: Path, trajectory: xr.Dataset) -> RunSummary:
    measured = bool(trajectory.sizes.get("step"))
    last = int(trajectory["step"].values[-1]) if measured else 0
    return RunSummary(path, "file", last, final_values(trajectory) if measured else {}, {}, trajectory)


def final_values(trajectory: xr.Dataset) -> dict[str, Any]:
    """The variables of the last step that a person asks for first."""
    last = trajectory.isel(step=-1)
    values: dict[str, Any] = {"step": plain(last["step"].values)}
    for name in ("excess_loss", "loss", "kl", "kl_reverse", "attention_by_group"):
        if name not in last:
            continue
        variable = last[name]
        if variable.dims in (("predictor",), ("split",)):
            labels = variable[variable.dims[0]].values
            values[name] = {str(k): plain(v) for k, v in zip(labels, variable.values, strict=True)}
        else:
            values[name] = plain(variable.values)
    if (importance := read_importance(trajectory)) is not None:
        values["importance"] = importance.to_json()
    if "attention_by_group" in last:
        from headwise.phases.detection import detect

        values["copies"] = [list(block) for block in detect(trajectory).copied]
    return values
