"""`export`: a stored run in a file of arrays, a table, or an experiment tracker."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from headwise.core.atomic import replace_file, replacing
from headwise.core.errors import ConfigError
from headwise.core.extras import require_library
from headwise.core.keys import nearest_key
from headwise.core.look import Look
from headwise.core.named_options import named_options
from headwise.core.system_errors import cannot_write
from headwise.store import load_trajectory
from headwise.store.given_source import given_source
from headwise.track.tracker import TrackedBy, Tracker

if TYPE_CHECKING:
    import xarray as xr

ExportTo = Literal["trackio", "wandb", "tensorboard", "mlflow", "netcdf", "zarr", "parquet"]
ENDINGS = {"netcdf": ".nc", "zarr": ".zarr", "parquet": ".parquet"}


@dataclass(frozen=True)
class Exported:
    """What was written, and where; `str` of this is what `headwise export` prints."""

    to: ExportTo
    output: Path
    steps: int

    def to_json(self) -> dict[str, Any]:
        """`to`, `output` and `steps`, ready for JSON."""
        return {"to": self.to, "output": str(self.output), "steps": self.steps}

    def __str__(self) -> str:
        return str(self.output)


@named_options
def export(run: Path | str, to: ExportTo, *, output: Path | str | None = None, project: str = "headwise") -> Exported:
    """Write a run as netCDF, Zarr or a Parquet table in long form, or send its numbers to an experiment tracker.

    `output` is the file, or the folder of a tracker; without one it is named after the run, or `tracked`. A tracker
    gets what `Look.numbers` names at each step, in a run of the run directory's name; nothing leaves the machine unless
    the tracker is configured so (see `Tracker`). `headwise.load` reads netCDF and Zarr back.

    >>> import tempfile
    >>> from headwise import FlowConfig, export, keep_flow, load
    >>> with tempfile.TemporaryDirectory() as out:
    ...     kept = keep_flow(FlowConfig(T=5, t_end=30.0), out=out).run
    ...     written = export(kept, "netcdf", output=f"{out}/flow.nc")
    ...     same = load(written.output).equals(load(kept))
    >>> written.output.name, same
    ('flow.nc', True)
    """
    if to not in get_args(ExportTo):
        known = get_args(ExportTo)
        raise ConfigError(f"--to {to!r} is unknown{nearest_key(str(to), known) or '; one of ' + ', '.join(known)}")
    source = given_source(run)
    trajectory = load_trajectory(source)
    if to in ENDINGS:
        path = Path(output) if output is not None else Path(source.stem + ENDINGS[to])
        {"netcdf": _netcdf, "zarr": _zarr, "parquet": _parquet}[to](trajectory, path)
        return Exported(to, path, trajectory.sizes.get("step", 0))
    folder = Path(output) if output is not None else Path("tracked")
    with Tracker(cast(TrackedBy, to), folder=folder, project=project, name=source.name) as tracker:
        for look in looks(trajectory):
            tracker(look)
    return Exported(to, folder, trajectory.sizes.get("step", 0))


def looks(trajectory: xr.Dataset) -> Iterator[Look]:
    """What was measured at each step of a stored run, as a hook would have got it; there is no model any more."""
    measured = {str(name): values for name, values in trajectory.data_vars.items() if values.dims[:1] == ("step",)}
    coordinates = {str(dim): values.values.tolist() for dim, values in trajectory.coords.items()}
    for index, step in enumerate(trajectory["step"].values):
        variables = {name: values.values[index] for name, values in measured.items()}
        yield Look(int(step), variables, coordinates)


def _netcdf(trajectory: xr.Dataset, path: Path) -> None:
    replace_file(path, bytes(trajectory.to_netcdf(engine="scipy")), option="--output")


def _zarr(trajectory: xr.Dataset, path: Path) -> None:
    """A folder cannot be replaced at once, so one that is there is refused."""
    require_library("zarr")
    if path.exists():
        raise ConfigError(f"--output {path} is there already; remove it or choose another")
    beside = path.with_name(f".headwise-{os.urandom(6).hex()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        trajectory.to_zarr(beside, mode="w-", zarr_format=2)
        os.replace(beside, path)
    except OSError as error:
        raise cannot_write(path, error, option="--output") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _parquet(trajectory: xr.Dataset, path: Path) -> None:
    """A row for each number: variable, step, the entries of its other dimensions, value."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {str(name): values for name, values in trajectory.data_vars.items()}
    others = list(dict.fromkeys(str(d) for values in arrays.values() for d in values.dims[1:]))
    schema = pa.schema(
        [
            ("variable", pa.string()),
            ("step", pa.float64()),
            *((dim, pa.string() if trajectory[dim].dtype.kind in "OU" else pa.int64()) for dim in others),
            ("value", pa.float64()),
        ]
    )
    with replacing(path, option="--output") as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for name, values in arrays.items():
            grids = np.meshgrid(*[values[dim].values for dim in values.dims], indexing="ij")
            columns = {str(dim): grid.ravel() for dim, grid in zip(values.dims, grids, strict=True)}
            columns["step"] = columns.pop(str(values.dims[0]))
            size = values.size
            rows = [[name] * size, columns["step"], *(columns.get(dim, [None] * size) for dim in others)]
            flat = values.values.ravel()
            writer.write_table(
                pa.table([pa.array(c, f.type) for c, f in zip([*rows, flat], schema, strict=True)], schema=schema)
            )
