"""Which runs are there, how far they are, and whether they can be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.system_errors import file_size, is_directory, names_in
from headwise.store.files import recorded_digest
from headwise.store.format_1 import named_by_content
from headwise.store.lock import is_locked
from headwise.store.output_root import RunName, parse_run_path
from headwise.store.run_directory import RunDirectory
from headwise.store.settled import settled

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
    problem: str = ""
    """What is wrong with a damaged run."""


def run_status(path: Path | str, *, care: Care = "quick") -> RunStatus:
    """Whether a run is over, being written, waiting to be resumed, or damaged."""
    return run_condition(path, care=care)[0]


def run_condition(path: Path | str, *, care: Care = "quick") -> tuple[RunStatus, str]:
    """The status of a run and, for a damaged one, the file and what is wrong with it."""
    run = RunDirectory(path)
    if is_locked(run.path):
        return "running", ""
    try:
        manifest = settled(run.path, lambda: _sound_manifest(run, care=care))
    except CorruptData as error:
        return "damaged", str(error)
    if manifest is None:
        return "interrupted", ""
    return ("diverged" if manifest["status"] == "diverged" else "finished"), ""


def steps_done(path: Path | str) -> int:
    """The last step that a run has on disk: what its manifest says, or its newest file that can be read and is its own.

    A file's name alone says nothing: one that was copied here from elsewhere is not counted.
    """
    run = RunDirectory(path)
    try:
        manifest = run.read_manifest()
        if manifest is not None:
            return int(manifest["steps"])
    except CorruptData:
        pass
    checkpoint = next((step for step in reversed(run.checkpoints.steps()) if _is_own(run, step)), 0)
    metrics = next((end for end in reversed(run.metrics.ends()) if end > checkpoint and run.metrics.reaches(end)), 0)
    return max(checkpoint, metrics)


def list_runs(root: Path | str, *, care: Care = "quick") -> list[RunRecord]:
    """Every run below an output root, by experiment, config and seed; `care="full"` verifies every byte.

    What its config and its curves say of each is added by `headwise.study.run_table`.
    """
    root = Path(root)
    if not is_directory(root):
        raise ConfigError(f"{root} is not a directory; give the --out that runs were written to")
    below = (root / experiment / name for experiment in names_in(root) for name in names_in(root / experiment))
    records = [
        _record(path, name, care=care) for path in below if (name := parse_run_path(path)) and is_directory(path)
    ]
    return sorted(records, key=lambda record: (record.experiment, record.config_hash, record.seed))


def _record(path: Path, name: RunName, *, care: Care) -> RunRecord:
    """One run; its settings and seed are those that it stored, as far as they can be read, not those of its name."""
    status, problem = run_condition(path, care=care)
    config_hash, seed = _stored_name(RunDirectory(path)) or (name.config_hash, name.seed)
    return RunRecord(
        path=path,
        experiment=name.experiment,
        config_hash=config_hash or name.config_hash,
        seed=seed,
        status=status,
        steps=steps_done(path),
        size_bytes=_size_bytes(path),
        problem=problem,
    )


def _stored_name(run: RunDirectory) -> tuple[str | None, int] | None:
    """The digits that name what a run stored, where they can be worked out, and its seed."""
    try:
        header = run.beginning.header_of_any_name()
        stored = run.beginning.identity(header)
    except CorruptData:
        return None
    return stored.config_hash if header.format > 1 or named_by_content(stored.content) else None, stored.seed


def _sound_manifest(run: RunDirectory, *, care: Care) -> dict[str, Any] | None:
    """The manifest, if there is one; `CorruptData` when something in the run is not as it should be."""
    manifest = run.read_manifest()
    files = run.data_files()
    if files:
        run.read_coordinates()
        if files != [run.coordinates_path]:
            run.read_config()
    if care == "full":
        run.verify()
        return manifest
    for path in files:
        recorded_digest(path)
    if manifest is not None:
        run.require_listed_files()
    elif steps := run.checkpoints.steps():
        newest = run.checkpoints.read(steps[-1])
        for chain in (run.metrics, run.snapshots):
            digests = {end: recorded_digest(chain.path(end)) for end in chain.ends()}
            chain.require_whole(newest.histories[chain.kind], good=digests)
    return manifest


def _is_own(run: RunDirectory, step: int) -> bool:
    try:
        run.checkpoints.read(step)
    except CorruptData:
        return False
    return True


def _size_bytes(path: Path) -> int:
    return sum(file_size(path / name) or 0 for name in names_in(path))  # a writer may rename one meanwhile
