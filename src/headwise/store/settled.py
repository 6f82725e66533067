"""Reading a run that may be written at the same moment: what looks like damage counts once nothing moves."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from headwise.core.errors import CorruptData
from headwise.core.system_errors import reading

Result = TypeVar("Result")

TRIES = 20
"""A writer adds a few files a second; so many faults in a row, each beside a change, are no coincidence."""


def settled(
    directory: Path, read: Callable[[], Result], *, suspicious: Callable[[Result], bool] = lambda result: False
) -> Result:
    """What `read` returns; damage that it raises, or a suspicious result, is looked at again after any change."""
    for _ in range(TRIES - 1):
        before = _state(directory)
        try:
            result = read()
        except CorruptData:
            if _state(directory) == before:
                raise
        else:
            if not suspicious(result) or _state(directory) == before:
                return result
    return read()


def _state(directory: Path) -> list[tuple[str, int, int]]:
    """Every visible file with what changes when it is replaced; the log grows at any time and does not matter."""
    found = []
    try:
        with reading(directory), os.scandir(directory) as entries:
            for entry in entries:
                if not entry.name.startswith(".") and not entry.name.endswith(".jsonl"):
                    with suppress(FileNotFoundError):  # gone since
                        about = entry.stat(follow_symlinks=False)
                        found.append((entry.name, about.st_ino, about.st_mtime_ns))
    except OSError:
        return []
    return sorted(found)
