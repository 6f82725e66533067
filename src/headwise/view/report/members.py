"""One run as a page needs it: its trajectory, and what is known about how it was made.

A trajectory that never was on disk (a flow just solved, somebody's own model) makes a member too, with no config.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import xarray as xr

from headwise.core.errors import ConfigError
from headwise.core.readings import with_reading
from headwise.core.trajectory import attribute
from headwise.store import RunDirectory, load_trajectory, run_status, short_path
from headwise.store.given_source import given_source, given_sources, source_kind
from headwise.store.labels import read_label


class Watched(Protocol):
    """Whatever has recorded a trajectory, such as what `headwise.watch` returns."""

    @property
    def trajectory(self) -> xr.Dataset: ...


Shown = Path | str | xr.Dataset | Watched
"""What a page can show: a run or file on disk, a trajectory, or a watch."""


@dataclass(frozen=True, eq=False)
class Member:
    """A trajectory with its provenance; `label` is how a person tells it from the others on the page."""

    trajectory: xr.Dataset
    label: str
    seed: int | str | None = None
    status: str = "finished"
    config: dict[str, Any] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    called: str | None = None
    """The label that its owner gave it."""
    digest: str | None = None
    """By which its branches name it; not known of a trajectory that comes without a run directory."""

    @property
    def is_foreign(self) -> bool:
        """Whether this is somebody's own model (watched, probed or trained) and not a model or a flow of headwise."""
        return attribute(self.trajectory, "source") == "probe" or self.is_trained_here

    @property
    def is_trained_here(self) -> bool:
        """Whether this is somebody's own model in headwise's training loop."""
        return "model" in (attribute(self.trajectory, "own") or {})


def as_member(given: Shown) -> Member:
    """A run, a file, a trajectory or a watch as a page needs it."""
    if isinstance(given, str | Path):
        return read_member(given)
    if isinstance(given, xr.Dataset):
        return member_of(given)
    found = getattr(given, "trajectory", None)
    if isinstance(found, xr.Dataset):
        return member_of(found)
    raise ConfigError(
        f"a page shows runs, trajectories and watches, not a {type(given).__name__}; give a run directory, "
        "headwise.load(RUN) or what headwise.watch returned"
    )


def member_of(trajectory: xr.Dataset, label: str = "") -> Member:
    """A trajectory that comes without a run directory."""
    if "seed" in trajectory.dims:
        raise ConfigError("a page takes one trajectory for each seed, not a seed dimension; give a list of them")
    seed = trajectory.attrs.get("seed")
    return Member(trajectory, label or "trajectory", seed=seed if isinstance(seed, int | str) else None)


def read_member(path: Path | str) -> Member:
    """A stored run, finished or not; `CorruptData` names the file that is damaged."""
    place = given_source(path)
    if source_kind(place) != "directory":
        return member_of(load_trajectory(place), place.stem)
    run = RunDirectory(place)
    trajectory = load_trajectory(run.path)
    config = with_reading(run.read_config())
    manifest = run.read_manifest()
    seed = config.get("seed", trajectory.attrs.get("seed"))
    return Member(
        trajectory=trajectory,
        label=short_path(run.path).name,
        called=read_label(run.path),
        digest=run.beginning.identity(run.beginning.header()).digest,
        seed=seed if isinstance(seed, int | str) else None,
        status=str(manifest["status"]) if manifest else run_status(run.path),
        config=config,
        manifest=manifest or {},
    )


def find_runs(paths: Sequence[Path | str]) -> list[Path]:
    """Runs and files among `paths`; a directory of runs stands for all of them, a pattern for all that it fits."""
    found: list[Path] = []
    for path in (one for given in paths for one in given_sources(given)):
        if not path.exists():
            raise ConfigError(f"{path} does not exist; `headwise list --runs DIR` shows the runs")
        if source_kind(path) != "directory" or RunDirectory(path).is_begun() or not path.is_dir():
            inside = [path]
        else:
            below = (folder for depth in ("*", "*/*") for folder in path.glob(depth) if folder.is_dir())
            inside = sorted(folder for folder in below if RunDirectory(folder).is_begun()) or [path]
        found += [run for run in inside if run not in found]
    return found
