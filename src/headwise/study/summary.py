"""What a stored run came to, as plain values; reads the store alone, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.store import RunDirectory, load_trajectory, run_status, steps_done

if TYPE_CHECKING:
    import xarray as xr


def summarise(path: Path | str) -> dict[str, Any]:
    """`run`, `status`, `steps`, `final` and `config` of a run.

    `final` has the step, the losses, distances and attention of the last evaluation, and in `copies` the pattern that
    each head of each block copies by then, as the phase report defines it (None: nothing).
    """
    run = RunDirectory(path)
    if not run.config_path.exists():
        raise ConfigError(f"{run.path} is not a run: it has no config.json; `headwise list --runs DIR` shows the runs")
    manifest = run.read_manifest()
    final: dict[str, Any] = {}
    if run.metrics.ends():
        final = final_values(load_trajectory(path))
    return {
        "run": str(run.path),
        "status": run_status(path),
        "steps": manifest["steps"] if manifest else steps_done(path),
        "final": final,
        "config": run.read_config(),
    }


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
    if "attention_by_group" in last:
        from headwise.phases.detection import detect

        values["copies"] = [list(block) for block in detect(trajectory).copied]
    return values


def plain(value: Any) -> Any:
    """Arrays and numpy scalars as lists and numbers; what is not a finite number becomes `None`, as JSON has no NaN."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value] if value.ndim else plain(value.item())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
