"""Which runs are there, how far they are, and whether they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headwise.core.errors import ConfigError, CorruptData
from headwise.store.files import read_verified, recorded_digest
from headwise.store.lock import is_locked
from headwise.store.output_root import parse_run_path
from headwise.store.run_directory import RunDirectory

RunStatus = Literal["finished", "diverged", "running", "interrupted", "damaged"]
Care = Literal["quick", "full"]
"""`quick` reads the small files and looks whether the others are there; `full` verifies every byte."""


@dataclass(frozen=True)
class RunRecord:
    """A line of the list of runs."""

    path: Path
    experiment: str
    config_hash: str
    seed: int
    status: RunStatus
    steps: int
    size_bytes: int


def run_status(path: Path | str, *, care: Care = "quick") -> RunStatus:
    """Whether a run is over, being written, waiting to be resumed, or damaged."""
    run = RunDirectory(path)
    if is_locked(run.path):
        return "running"
    try:
        manifest = run.read_manifest()
        _require_sound(run, care=care)
    except CorruptData:
        return "damaged"
    if manifest is None:
        return "interrupted"
    return "diverged" if manifest["status"] == "diverged" else "finished"


def steps_done(path: Path | str) -> int:
    """The last step that a run has on disk, by the names of its files."""
    run = RunDirectory(path)
    return max([0, *run.checkpoints.steps()[-1:], *run.metrics.ends()[-1:]])


def list_runs(root: Path | str, *, care: Care = "quick") -> list[RunRecord]:
    """Every run below an output root, by experiment, config and seed."""
    root = Path(root)
    if not root.is_dir():
        raise ConfigError(f"{root} is not a directory; give the --out that runs were written to")
    records = []
    for path in sorted(root.glob("*/*")):
        name = parse_run_path(path)
        if name is None or not path.is_dir():
            continue
        records.append(
            RunRecord(
                path=path,
                experiment=name.experiment,
                config_hash=name.config_hash,
                seed=name.seed,
                status=run_status(path, care=care),
                steps=steps_done(path),
                size_bytes=_size_bytes(path),
            )
        )
    return sorted(records, key=lambda record: (record.experiment, record.config_hash, record.seed))


def _require_sound(run: RunDirectory, *, care: Care) -> None:
    files = run.data_files()
    if files and not run.config_path.exists() and files != [run.coordinates_path]:
        raise CorruptData(f"{run.config_path} is missing")
    for path in files:
        if path.suffix == ".json":
            read_verified(path)
        else:
            recorded_digest(path)
    run.require_listed_files()
    if care == "full":
        run.verify()


def _size_bytes(path: Path) -> int:
    total = 0
    for entry in path.iterdir():
        try:
            total += entry.stat().st_size
        except FileNotFoundError:  # a writer renamed a temporary meanwhile
            continue
    return total
