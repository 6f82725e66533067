"""Which probe a run is: what was shown and what it was shown to, never where the checkpoints lay.

The first checkpoint that was looked at is part of it, by content, as are the tokens. What the later ones hold is not
known when a run begins; it is kept with the records (`probe/looked_at.py`). The directory of a run is found by the
place of the folder, so that two folders of one name are two runs, and replaced checkpoints are noticed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwise.core.errors import CorruptData
from headwise.probe.folder_config import FolderConfig
from headwise.probe.hub import is_hub
from headwise.store import RunDirectory, RunIdentity, find_run
from headwise.store.cures import to_be_removed

FIRST = "first"
LATER = ("step_pattern", "build", "importance", "importance_of")
NOT_CONTENT = ("source", "seed")
"""The folder's name is a label, and the seed stands beside the content."""


def probe_path(folder: Path, config: FolderConfig, out: Path) -> Path:
    """Where the probe of a folder is kept."""
    plain = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in config.source)
    return find_run(out, experiment=f"probe-{plain[:58]}", identity=probe_identity(folder, config, first=None))


def probe_identity(folder: Path, config: FolderConfig, *, first: Mapping[str, Any] | None) -> RunIdentity:
    """What every file of a probe carries; `first` is what the first record was taken from, once there is one."""
    settings = config.model_dump(mode="json")
    # Probes of the usual names and kinds keep the names that they had before there were others.
    settings = {key: value for key, value in settings.items() if key not in LATER or value is not None}
    content = {key: value for key, value in settings.items() if key not in NOT_CONTENT}
    return RunIdentity(
        {**content, FIRST: None if first is None else dict(first)},
        config.seed,
        kept_in_format_1=settings,
        named_by={**settings, "place": str(folder) if is_hub(folder) else str(folder.resolve())},
    )


def first_looked_at(run: RunDirectory) -> Mapping[str, Any] | None:
    """What the first record of a run was taken from, as all its files carry it; `None` before that, and in format 1."""
    if not run.is_begun():
        return None
    identity = run.beginning.header_of_any_name().identity
    return None if identity is None else identity.content.get(FIRST)


def require_own(run: RunDirectory, folder: Path, config: FolderConfig) -> None:
    """`CorruptData` when the run that is there is the probe of something else, or too damaged to tell."""
    try:
        run.require_same(probe_identity(folder, config, first=first_looked_at(run)))
        if run.has_records():  # before the first record, a crash may have left coordinates.json alone
            run.read_config()
    except CorruptData as error:
        raise to_be_removed(error, run.path, then="probe the folder anew") from error
