"""`verify`: everything that is stored of one run or of many, checked; changes nothing.

Every file is held against its digest, its run's identity, its neighbours in the chain and the manifest, and every
directory's name against what is in it. The log is not checked: nothing is read back from it but words.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.named_options import named_options
from headwise.core.system_errors import exists, file_size, is_directory, machine_error, names_in
from headwise.core.text import wrap
from headwise.store import format_1
from headwise.store.files import SIDECAR_SUFFIX, sidecar
from headwise.store.given_source import given_sources
from headwise.store.listing import RunStatus, run_condition
from headwise.store.lock import HOLDER_NAME, LOCK_NAME
from headwise.store.output_root import parse_run_path
from headwise.store.run_directory import RunDirectory
from headwise.store.run_faults import Fault

Paths = Path | str | Sequence[Path | str]
"""A run, a directory of runs, or several of them."""


@dataclass(frozen=True)
class VerifiedRun:
    """One run: what was checked, what is wrong, and what lies there without belonging to it."""

    run: Path
    status: RunStatus
    format: int | None
    """`None` where coordinates.json cannot be read."""
    files: int
    bytes: int
    faults: tuple[Fault, ...] = field(repr=False)
    litter: tuple[Path, ...] = field(repr=False)
    """Files that no reader looks at: what a killed writer left, sidecars without their files, other people's files."""
    not_promised: tuple[str, ...] = field(repr=False)
    """What cannot be found in a run of this format."""

    def to_json(self) -> dict[str, Any]:
        """The values above, ready for JSON; files by their names."""
        return {
            "run": str(self.run),
            "status": self.status,
            "format": self.format,
            "files": self.files,
            "bytes": self.bytes,
            "faults": [{"file": str(fault.file), "problem": fault.problem} for fault in self.faults],
            "litter": [str(path) for path in self.litter],
            "not_promised": list(self.not_promised),
        }


@dataclass(frozen=True)
class VerifyReport:
    """What `verify` found; `str` of this is what `headwise verify` prints."""

    runs: tuple[VerifiedRun, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong in any run."""
        return not any(run.faults for run in self.runs)

    def to_json(self) -> dict[str, Any]:
        """`schema`, `sound` and `runs`, ready for JSON."""
        return {"schema": 1, "sound": self.sound, "runs": [run.to_json() for run in self.runs]}

    def summary(self) -> str:
        """One line: how much was checked and how much of it is wrong."""
        files, size = sum(run.files for run in self.runs), sum(run.bytes for run in self.runs)
        wrong = sum(len(run.faults) for run in self.runs)
        damaged = sum(bool(run.faults) for run in self.runs)
        found = f"{wrong} wrong in {damaged} of them" if wrong else "nothing is wrong"
        return f"{_counted(len(self.runs), 'run')}, {_counted(files, 'file')}, {size / 1e6:.1f} MB: {found}"

    def __str__(self) -> str:
        lines = []
        for run in self.runs:
            lines.append(f"{run.status:<11}  {run.files:>4} files  {run.bytes / 1e6:>7.1f} MB\n    {run.run}")
            for fault in run.faults:
                name = fault.file.name if fault.file != run.run else "the directory"
                lines.append(wrap(f"{name} {fault.problem}", indent="    ! ", hanging="      "))
            if run.litter:
                names = ", ".join(path.name for path in run.litter)
                lines.append(wrap(f"not part of the run: {names}", indent="    ", hanging="      "))
        for version in sorted({run.format for run in self.runs if run.not_promised and run.format is not None}):
            kept = [run for run in self.runs if run.format == version]
            missing = dict.fromkeys(text for run in kept for text in run.not_promised)
            lines.append(wrap(f"format {version} ({_counted(len(kept), 'run')}): {'; '.join(missing)}", hanging="  "))
        return "\n".join([*lines, self.summary()])


@named_options
def verify(paths: Paths = "runs") -> VerifyReport:
    """Check everything that is stored in these runs, or in all runs below these directories.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow, verify
    >>> with tempfile.TemporaryDirectory() as out:
    ...     flow = keep_flow(FlowConfig(T=5, t_end=3.0), out=out)
    ...     before = verify(out).sound
    ...     written = (flow.run / "metrics-00000003.parquet").write_bytes(b"something else")
    ...     [fault] = verify(flow.run).runs[0].faults
    >>> before, fault.file.name
    (True, 'metrics-00000003.parquet')
    """
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    found = [run for one in given for path in given_sources(one) for run in _runs_in(path)]
    return VerifyReport(tuple(verify_run(path) for path in dict.fromkeys(found)))


def verify_run(path: Path | str) -> VerifiedRun:
    """One run, whatever it is called."""
    run = RunDirectory(path)
    faults = tuple(run.faults())
    condition = run_condition(run.path)[0]
    listed = [*run.data_files(), *([run.manifest_path] if exists(run.manifest_path) else [])]
    files = {file: size for file in listed if (size := file_size(file)) is not None}
    version = _format(run)
    return VerifiedRun(
        run=run.path,
        status="damaged" if faults and condition != "running" else condition,
        format=version,
        files=len(files),
        bytes=sum(files.values()),
        faults=faults,
        litter=() if condition == "running" else tuple(_litter(run, listed)),
        not_promised=format_1.not_promised(over=exists(run.manifest_path)) if version == 1 else (),
    )


def _runs_in(path: Path) -> list[Path]:
    """The run itself, or every run below; `ConfigError` when there is none."""
    if not is_directory(path):
        raise ConfigError(f"{path} is not a directory; give a run, or the --out that runs were written to")
    if _is_run(path):
        return [path]

    def stop(error: OSError) -> None:
        raise machine_error("read", Path(error.filename or path), error) from error

    found: list[Path] = []
    for folder, inside, _ in os.walk(path, onerror=stop):
        runs = sorted(name for name in inside if _is_run(Path(folder, name)))
        found += [Path(folder, name) for name in runs]
        inside[:] = sorted(set(inside) - set(runs))
    if not found:
        raise ConfigError(f"no runs under {path}; give a run, or the --out that runs were written to")
    return sorted(found)


def _is_run(path: Path) -> bool:
    """By its name, or by a file that only runs have; a config.json without its digest may be anybody's."""
    run = RunDirectory(path)
    own = (run.coordinates_path, sidecar(run.config_path), sidecar(run.manifest_path))
    return parse_run_path(path) is not None or any(exists(file) for file in own) or bool(run.metrics.ends())


def _format(run: RunDirectory) -> int | None:
    try:
        return run.beginning.header_of_any_name().format
    except CorruptData:
        return None


def _litter(run: RunDirectory, files: Sequence[Path]) -> Iterator[Path]:
    known = {run.log_path.name, LOCK_NAME, HOLDER_NAME}
    known |= {name for file in files for name in (file.name, file.name + SIDECAR_SUFFIX)}
    yield from (run.path / name for name in names_in(run.path) if name not in known)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
