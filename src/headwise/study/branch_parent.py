"""The run that a branch leaves, found by its digest below a folder of runs."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.system_errors import is_directory, names_in
from headwise.store import RunDirectory
from headwise.store.output_root import parse_run_path


def run_digest(run: RunDirectory) -> str:
    """The digest by which a branch names its parent: of what the run's results depend on, and its seed."""
    return run.beginning.identity(run.beginning.header()).digest


def find_parent(digest: str, out: Path | str, *, of: Path | str) -> RunDirectory:
    """The run with this digest below `out`; `ConfigError` once it is gone."""
    root = Path(out)
    for experiment in names_in(root) if is_directory(root) else ():
        for name in names_in(root / experiment) if is_directory(root / experiment) else ():
            run = RunDirectory(root / experiment / name)
            if parse_run_path(run.path) is None:
                continue
            with suppress(CorruptData, ConfigError):
                if run_digest(run) == digest:
                    return run
    raise ConfigError(f"{of} is a branch of run {digest[:12]}…, which is not below {root}; put it back there")
