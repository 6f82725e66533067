"""A trajectory that is complete in memory as a run directory like any other.

Two trajectories of the same settings are two runs where their numbers differ: what was measured is part of what names
the run, because nothing else says which training it was. Saving the same one again finds it there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.trajectory import attribute
from headwise.core.variables import DIMENSIONS, VARIABLES
from headwise.store.identity import RunIdentity
from headwise.store.output_root import check_writable, run_path
from headwise.store.run_directory import RunDirectory

if TYPE_CHECKING:
    import xarray as xr

LABELS = ("label", "seed")
"""Settings that name a run without changing what is in it."""


def save_trajectory(
    trajectory: xr.Dataset,
    out: Path | str,
    *,
    experiment: str,
    config: Mapping[str, Any],
    seed: int,
    about: Mapping[str, Any],
) -> Path:
    """Write all of a trajectory; `about` is the content of the manifest. Returns the directory of the run."""
    steps = np.asarray(trajectory["step"].values) if "step" in trajectory.coords else np.zeros(0)
    if not len(steps):
        raise ConfigError("the trajectory has no steps, so there is nothing to keep; take a look at the model first")
    content = {key: value for key, value in config.items() if key not in LABELS}
    identity = RunIdentity({**content, "measured": measured_digest(trajectory)}, seed)
    check_writable(out)
    run = RunDirectory(run_path(out, experiment=experiment, config_hash=identity.path_hash, seed=seed))
    with run.writing():
        run.require_same(identity)
        if run.read_manifest() is not None:
            return run.path
        run.discard_all()
        run.start(
            dict(config), identity=identity, coordinates=_coordinates(trajectory), attributes=_attributes(trajectory)
        )
        for dim, write in (("step", run.write_metrics), ("snapshot", run.write_snapshots)):
            variables = {n: np.asarray(v.values) for n, v in _variables(trajectory).items() if v.dims[0] == dim}
            if variables:
                times = np.asarray(trajectory[dim].values)
                write(int(np.ceil(steps[-1])), steps=times, variables=variables)
        run.log("finished", {"step": int(np.ceil(steps[-1]))})
        run.finish(about)
    return run.path


def measured_digest(trajectory: xr.Dataset) -> str:
    """64 hexadecimal digits that stand for every number and name in a trajectory."""
    digest = hashlib.sha256()
    named = _variables(trajectory) | {str(name): values for name, values in trajectory.coords.items()}
    for name, values in sorted(named.items()):
        array = np.ascontiguousarray(values.values)
        if array.dtype.kind in "OU":
            array = np.frombuffer("\0".join(map(str, array.ravel())).encode(), dtype=np.uint8)
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _variables(trajectory: xr.Dataset) -> dict[str, xr.DataArray]:
    return {str(name): values for name, values in trajectory.data_vars.items() if str(name) in VARIABLES}


def _coordinates(trajectory: xr.Dataset) -> dict[str, list[Any]]:
    """What the run says of its dimensions; times stand with the numbers."""
    wanted = [dim for dim, row in DIMENSIONS.items() if dim in trajectory.coords and row.entries != "times"]
    return {dim: trajectory[dim].values.tolist() for dim in wanted}


def _attributes(trajectory: xr.Dataset) -> dict[str, Any]:
    return {str(name): attribute(trajectory, str(name)) for name in trajectory.attrs}
