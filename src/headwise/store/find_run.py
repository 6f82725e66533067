"""Where a run is: under its name of 32 digits, or, if it was stored in format 1, under the one of 8 digits."""

from __future__ import annotations

from pathlib import Path

from headwise.core.errors import CorruptData
from headwise.core.system_errors import exists
from headwise.store.identity import RunIdentity
from headwise.store.output_root import run_path, short_path
from headwise.store.run_directory import RunDirectory


def find_run(out: Path | str, *, experiment: str, identity: RunIdentity) -> Path:
    """The directory in which a run is, or would be begun.

    A run under the short name is taken only if what it depends on and its seed are those asked for, since two contents
    may share 8 digits. One that is too damaged to tell is returned too, so that opening it names the damage.
    """
    path = run_path(out, experiment=experiment, config_hash=identity.path_hash, seed=identity.seed)
    short = RunDirectory(short_path(path))
    if exists(short.path) and not _begun(RunDirectory(path)) and _begun(short):
        try:
            header = short.beginning.header_of_any_name()
            stored = short.beginning.identity(header)
        except CorruptData:
            return short.path
        if not stored.differences(identity.as_kept(header.format)):
            return short.path
    return path


def _begun(run: RunDirectory) -> bool:
    return exists(run.coordinates_path) or run.has_records()
