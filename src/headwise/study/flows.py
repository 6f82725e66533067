"""A solved flow kept as a run like any other, so that everything that reads runs reads it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.config import content_hash
from headwise.core.variables import DIMENSIONS
from headwise.store import RunDirectory, check_writable, describe_run, now, run_path

if TYPE_CHECKING:
    import xarray as xr

    from headwise.flow.config import FlowConfig


def keep_flow(trajectory: xr.Dataset, config: FlowConfig, *, seed: int, out: Path | str) -> Path:
    """Store a flow's trajectory under `<out>/flow/`; one that is there already is left alone."""
    content = config.model_dump(mode="json")
    path = run_path(out, experiment="flow", config_hash=content_hash(content), seed=seed)
    run = RunDirectory(path)
    if run.read_manifest() is not None:
        return path
    check_writable(out)
    started = now()
    steps = trajectory["step"].values
    end = int(np.ceil(steps[-1]))
    variables = {str(name): trajectory[name].values for name in trajectory.data_vars}
    named = [dim for dim, row in DIMENSIONS.items() if row.entries in ("names", "numbers") and dim in trajectory.coords]
    coordinates = {dim: trajectory[dim].values.tolist() for dim in named}
    with run.writing():
        run.discard_after(-1)
        run.start(content, coordinates=coordinates, attributes={**trajectory.attrs, "experiment": "flow", "seed": seed})
        run.write_metrics(end, steps=steps, variables=variables)
        run.finish(
            describe_run(
                status="finished",
                steps=end,
                device="cpu",
                threads=1,
                argv=sys.argv,
                started=started,
                ended=now(),
                engine=config.method,
            )
        )
    return path
