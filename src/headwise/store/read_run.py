"""A stored run as a trajectory, finished or not, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options
from headwise.core.trajectory import assemble
from headwise.store.given_source import given_source, source_kind
from headwise.store.run_directory import RunDirectory

if TYPE_CHECKING:
    import xarray as xr


@named_options
def load_trajectory(path: Path | str) -> xr.Dataset:
    """Metrics and snapshots of one run under their trajectory names, with the coordinates the run stored at its start.

    `path` is a run directory or a pattern that fits one (`runs/minimal/*-s1`), or a netCDF file or Zarr store that a
    trajectory was written to. Of a run that is being written, this is what has reached the disk. Damage raises
    `CorruptData`.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow, load
    >>> with tempfile.TemporaryDirectory() as out:
    ...     trajectory = load(keep_flow(FlowConfig(T=5, t_end=30.0), out=out).run)
    >>> trajectory.attrs["source"], trajectory.sizes["head"]
    ('flow', 3)
    """
    place = given_source(path)
    if source_kind(place) != "directory":
        from headwise.store.array_files import read_array_file

        return read_array_file(place)
    run = RunDirectory(place)
    run.require_begun()
    coordinates, attributes = run.read_coordinates()
    metrics, snapshots = run.read_histories()
    if not metrics.variables and not snapshots.variables:
        raise ConfigError(f"{run.path} holds no measurements yet; let the run reach its first checkpoint")
    return assemble(
        {**metrics.variables, **snapshots.variables},
        {**coordinates, "step": metrics.steps, "snapshot": snapshots.steps},
        attributes,
    )
