"""Runs from one or several roots as two Parquet files: a row per run, and every curve in long form.

Which variables are gathered, and how, stands in their rows of `core/variables.py`. Every file is checked against its
digest on the way. The same run in two roots is taken once. What counts is what was measured, not how it lies on disk: a
run that was stopped and resumed has its measurements in other files than one that was not. If the measurements differ,
the first run is taken and a note says so. Both files open in pandas, polars and DuckDB.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.atomic import replacing
from headwise.core.errors import ConfigError, CorruptData
from headwise.core.keys import flatten
from headwise.core.named_options import named_options
from headwise.core.readable import readable
from headwise.core.readings import with_reading
from headwise.core.variables import DIMENSIONS, VARIABLES
from headwise.store import RunDirectory, RunRecord, list_runs, load_trajectory

if TYPE_CHECKING:
    import pyarrow as pa
    import xarray as xr


def curve_names() -> list[str]:
    """The variables of which every value goes to `curves.parquet`."""
    return [row.name for row in VARIABLES.values() if "curve" in row.gathered]


def curve_labels() -> list[str]:
    """The dimensions of these variables but for the step: one column each."""
    used = {dim for name in curve_names() for dim in VARIABLES[name].dimensions}
    return [dim for dim in DIMENSIONS if dim in used and dim != "step"]


@dataclass(frozen=True)
class Found:
    """The runs to collect, and what a person should know about those left out."""

    records: list[RunRecord]
    notes: list[str]


def find_runs(roots: Sequence[Path]) -> Found:
    """Every ended run below the roots, once."""
    kept: dict[tuple[str, str, int], RunRecord] = {}
    notes: list[str] = []
    for root in roots:
        for record in list_runs(root, care="full"):
            if record.status in ("damaged", "running", "interrupted"):
                why = f": {record.problem}" if record.problem else ""
                notes.append(f"left out, {record.status}: {record.path}{why}")
                continue
            first = kept.setdefault((record.experiment, record.config_hash, record.seed), record)
            if first is not record and not same_measurements(first.path, record.path):
                notes.append(f"conflict: {record.path} differs from {first.path}, which is taken")
    if not kept:
        raise ConfigError(f"no finished runs under {', '.join(str(root) for root in roots)}")
    return Found(list(kept.values()), notes)


def same_measurements(one: Path, other: Path) -> bool:
    """Whether two runs ended alike and hold the same values at the same steps, in whatever files."""
    (end, files), (other_end, other_files) = _end(one), _end(other)
    if end != other_end or files == other_files:
        return end == other_end
    return load_trajectory(one).equals(load_trajectory(other))


@dataclass(frozen=True)
class CollectedRuns:
    """The two tables that were written; `str` of this is what `headwise collect` prints."""

    runs: Path
    curves: Path
    notes: tuple[str, ...] = field(repr=False)
    """What a person should know about runs that were left out."""

    def to_json(self) -> dict[str, Any]:
        """`runs`, `curves` and `notes`, ready for JSON."""
        return {"runs": str(self.runs), "curves": str(self.curves), "notes": list(self.notes)}

    def __str__(self) -> str:
        return f"{self.runs}\n{self.curves}"


@named_options
def collect(
    roots: Path | str | Sequence[Path | str],
    to: Path | str = "collected",
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> CollectedRuns:
    """Write every finished run below the roots into `runs.parquet` and `curves.parquet` in the folder `to`.

    `progress` is called with how many runs are done and how many there are; memory holds one run at a time.

    >>> import tempfile
    >>> from headwise import collect, experiment, train
    >>> small = {"task.d": 6, "task.T": 5, "train.samples": 60, "train.steps": 8, "measure.test_samples": 30}
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = train(experiment("minimal", "redrawn", changes=small), out=out)
    ...     collected = collect(out, f"{out}/collected")
    >>> collected.runs.name, collected.curves.name, collected.notes
    ('runs.parquet', 'curves.parquet', ())
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = Path(to)
    found = find_runs([Path(roots)] if isinstance(roots, Path | str) else [Path(root) for root in roots])
    table, curves = out / "runs.parquet", out / "curves.parquet"
    rows: list[dict[str, Any]] = []
    # Both are complete before the first of them takes its place.
    with replacing(table, option="--to") as new_table, replacing(curves, option="--to") as new_curves:
        with ExitStack() as opened:
            writer: pq.ParquetWriter | None = None
            for done, record in enumerate(found.records, start=1):
                trajectory = load_trajectory(record.path)
                rows.append(run_row(record, trajectory))
                part = curve_table(record, trajectory)
                if writer is None:
                    writer = opened.enter_context(pq.ParquetWriter(new_curves, part.schema, compression="zstd"))
                writer.write_table(part)
                progress(done, len(found.records))
        columns = list(dict.fromkeys(key for row in rows for key in row))
        content = pa.table({readable(key): [_utf8(row.get(key)) for row in rows] for key in columns})
        pq.write_table(content, new_table, compression="zstd")
    return CollectedRuns(table, curves, tuple(found.notes))


def run_row(record: RunRecord, trajectory: xr.Dataset) -> dict[str, Any]:
    """One run: where it is, every config key, its last measurement and what the phase detector says."""
    run = RunDirectory(record.path)
    row: dict[str, Any] = {
        "run": str(record.path),
        "experiment": record.experiment,
        "config": record.config_hash,
        "seed": record.seed,
        "status": record.status,
        "steps": record.steps,
        "reason": f"the loss became infinite at step {record.steps}" if record.status == "diverged" else None,
    }
    row |= config_columns(with_reading(run.read_config()))
    for name in (str(name) for name in trajectory.data_vars if name in VARIABLES):
        gathered = VARIABLES[name].gathered
        if "final" in gathered:
            row |= named_values(f"final.{name}", trajectory[name].isel(step=-1))
        if "best" in gathered:
            row |= named_values(f"best.{name}", trajectory[name].min("step"))
    if "excess_loss" in trajectory:
        row["final.fall"] = last_fall(trajectory["step"].values, trajectory["excess_loss"].values)
    return row | phase_columns(trajectory)


def named_values(prefix: str, values: xr.DataArray) -> dict[str, float]:
    """One column for each value, named by the entries of its dimensions: `final.kl.prefix_1`."""
    names = itertools.product(*[values[dim].values.tolist() for dim in values.dims])
    flat = values.values.reshape(-1).tolist()
    return {".".join([prefix, *map(str, entry)]): float(v) for entry, v in zip(names, flat, strict=True)}


def last_fall(steps: np.ndarray, excess: np.ndarray) -> float | None:
    """Share of the excess loss that was lost in the last tenth of the run; None for a run of one evaluation."""
    before = np.flatnonzero((steps <= 0.9 * steps[-1]) & (steps < steps[-1]))
    if not len(before) or not excess[before[-1]] > 0 or not np.isfinite(excess[-1]):
        return None
    return float(1 - excess[-1] / excess[before[-1]])


def phase_columns(trajectory: xr.Dataset) -> dict[str, Any]:
    """The phase report in a few columns."""
    from headwise.phases.detection import detect

    report = detect(trajectory)
    columns: dict[str, Any] = {
        f"stages.{name}": len(view.boundaries) + 1 if view.stages or view.possible else None
        for name, view in report.views.items()
    }
    columns["competitive.end"] = report.competitive.end if report.competitive else None
    columns["offshoots"] = len(report.offshoots)
    for place, left in enumerate(report.offshoots[:3], start=1):
        columns[f"offshoot.{place}.step"] = left.step
        columns[f"offshoot.{place}.to"] = str(left.target)
    columns["order"] = str(report.function.order)
    return columns


def curve_table(record: RunRecord, trajectory: xr.Dataset) -> pa.Table:
    """Every curve of one run in long form: run, seed, step, variable, labels, value."""
    import pyarrow as pa

    parts = [_long(trajectory, name) for name in curve_names() if name in trajectory]
    total = sum(len(part["value"]) for part in parts)
    columns: dict[str, Any] = {
        "run": pa.array([readable(str(record.path))] * total).dictionary_encode(),
        "experiment": pa.array([record.experiment] * total).dictionary_encode(),
        "seed": np.full(total, record.seed, dtype=np.int64),
    }
    for key in ("step", "variable", *curve_labels(), "value"):
        joined = [part[key] for part in parts]
        if key in ("step", "value"):
            columns[key] = np.concatenate(joined).astype(np.float64)
        elif key == "variable" or DIMENSIONS[key].entries == "names":
            columns[key] = pa.array(
                [_utf8(text) for texts in joined for text in texts], pa.string()
            ).dictionary_encode()
        else:
            columns[key] = pa.array([number for numbers in joined for number in numbers], pa.int32())
    return pa.table(columns)


def config_columns(config: Mapping[str, Any]) -> dict[str, Any]:
    """A column for each dotted key; lists become JSON text, because a column has one type."""
    columns: dict[str, Any] = {}
    for key, value in flatten(config).items():
        may_be_a_list = isinstance(value, list) or key.rpartition(".")[2] in ("groups", "alpha")
        if value != {}:
            columns[f"config.{key}"] = json.dumps(value) if may_be_a_list else value
    return columns


def _utf8(value: Any) -> Any:
    """Text that Parquet can hold: a path need not be valid Unicode."""
    return readable(value) if isinstance(value, str) else value


def _long(trajectory: xr.Dataset, name: str) -> dict[str, Any]:
    variable = trajectory[name]
    grids = np.meshgrid(*[variable[dim].values for dim in variable.dims], indexing="ij")
    flat = {str(dim): grid.ravel() for dim, grid in zip(variable.dims, grids, strict=True)}
    size = variable.size
    columns: dict[str, Any] = {"step": flat["step"], "variable": [name] * size, "value": variable.values.ravel()}
    for label in curve_labels():
        columns[label] = flat[label].tolist() if label in flat else [None] * size
    return columns


def _end(path: Path) -> tuple[tuple[str, int], dict[str, str]]:
    """How a run ended and at which step, and the digests of its measurements."""
    manifest = RunDirectory(path).read_manifest()
    if manifest is None:
        raise CorruptData(f"{path} has lost its manifest.json")
    files: dict[str, Any] = manifest["files"]
    measured = {name: about["sha256"] for name, about in files.items() if name.startswith(("metrics-", "snapshots-"))}
    return (manifest["status"], manifest["steps"]), measured
