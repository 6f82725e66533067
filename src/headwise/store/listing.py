"""Which runs are there, how far they are, and whether they can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.text import WIDTH
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


class RunList(list[RunRecord]):
    """The runs below an output root; `str` of this is what `headwise list --runs` prints."""

    def __init__(self, records: Iterable[RunRecord], *, root: Path) -> None:
        super().__init__(records)
        self.root = root

    def to_json(self) -> list[dict[str, Any]]:
        """`run`, `experiment`, `seed`, `status`, `steps` and `bytes` of each run, ready for JSON."""
        return [
            {
                "run": str(record.path),
                "experiment": record.experiment,
                "seed": record.seed,
                "status": record.status,
                "steps": record.steps,
                "bytes": record.size_bytes,
            }
            for record in self
        ]

    def __str__(self) -> str:
        return "\n".join(_line(record) for record in self) or f"no runs under {self.root}"


def _line(record: RunRecord) -> str:
    size = f"{record.size_bytes / 1e6:.1f} MB"
    left = f"{record.status:<11} {record.steps:>7} steps {size:>9}"
    fits = len(left) + len(str(record.path)) + 2 <= WIDTH
    return f"{left}  {record.path}" if fits else f"{left}\n    {record.path}"


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


def list_runs(root: Path | str, *, care: Care = "quick") -> RunList:
    """Every run below an output root, by experiment, config and seed; `care="full"` verifies every byte.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow, list_runs
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = keep_flow(FlowConfig(T=5, t_end=3.0), out=out)
    ...     runs = list_runs(out)
    >>> [(run.experiment, run.seed, run.status, run.steps) for run in runs]
    [('flow', 0, 'finished', 3)]
    """
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
    return RunList(sorted(records, key=lambda record: (record.experiment, record.config_hash, record.seed)), root=root)


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
