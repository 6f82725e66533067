"""JSON that somebody else wrote: read as data of bounded size and depth, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from headwise.core.errors import CorruptData

LARGEST_BYTES = 32 * 2**20
"""A config of a hundred thousand labels and an index of a hundred thousand weights are smaller."""


def printable(text: object, *, most: int = 120) -> str:
    """Somebody else's words in a message of ours: one line, of bounded length, without what steers a terminal."""
    line = next(iter(str(text).strip().splitlines()), "")[:most]
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)


def require_file(path: Path) -> None:
    """`CorruptData` for what is no ordinary file: a pipe or a device would be read for ever."""
    if not path.is_file():
        raise CorruptData(f"{path} is missing" if not path.exists() else f"{path} is not an ordinary file")


def read_foreign_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; `CorruptData` names the file when it holds anything else."""
    require_file(path)
    if (size := path.stat().st_size) > LARGEST_BYTES:
        raise CorruptData(f"{path} has {size} bytes, too many for settings")
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else printable(error)
        raise CorruptData(f"{path} cannot be read: {reason}") from None
    if not isinstance(content, dict):
        raise CorruptData(f"{path} holds no JSON object")
    return content
