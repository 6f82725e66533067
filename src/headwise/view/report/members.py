"""One run as a page needs it: its trajectory, and what is known about how it was made.

A trajectory that never was on disk (a flow just solved, somebody's own model) makes a member too, with no config.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.core.errors import ConfigError
from headwise.store import RunDirectory, load_trajectory, run_status, short_path

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False)
class Member:
    """A trajectory with its provenance; `label` is how a person tells it from the others on the page."""

    trajectory: xr.Dataset
    label: str
    seed: int | str | None = None
    status: str = "finished"
    config: dict[str, Any] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)


def read_member(path: Path | str) -> Member:
    """A stored run, finished or not; `CorruptData` names the file that is damaged."""
    run = RunDirectory(path)
    trajectory = load_trajectory(run.path)
    config = run.read_config()
    manifest = run.read_manifest()
    seed = config.get("seed", trajectory.attrs.get("seed"))
    return Member(
        trajectory=trajectory,
        label=short_path(run.path).name,
        seed=seed if isinstance(seed, int | str) else None,
        status=str(manifest["status"]) if manifest else run_status(run.path),
        config=config,
        manifest=manifest or {},
    )


def find_runs(paths: Sequence[Path]) -> list[Path]:
    """Run directories among `paths`; a directory of runs stands for all of them."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise ConfigError(f"{path} does not exist; `headwise list --runs DIR` shows the runs")
        if RunDirectory(path).is_begun() or not path.is_dir():
            inside = [path]
        else:
            below = (folder for depth in ("*", "*/*") for folder in path.glob(depth) if folder.is_dir())
            inside = sorted(folder for folder in below if RunDirectory(folder).is_begun()) or [path]
        found += [run for run in inside if run not in found]
    return found
