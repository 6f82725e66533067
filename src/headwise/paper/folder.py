"""Writing into the folder of a reproduction, which several commands may do at the same time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock

from headwise.core.atomic import replace_file
from headwise.core.errors import ConfigError


@contextmanager
def locked(into: Path) -> Iterator[None]:
    """Make the folder and be alone in writing to it; a folder that cannot be written is a wrong `--into`."""
    try:
        into.mkdir(parents=True, exist_ok=True)
        with FileLock(into / ".verdicts.lock"):
            yield
    except OSError as error:
        raise ConfigError(f"{into} cannot be written: {error.strerror or error}; choose another --into") from None


def write_json(path: Path, document: Any) -> None:
    """Write a file that is always whole, whenever the command is stopped."""
    text = json.dumps(document, indent=2, allow_nan=False, ensure_ascii=False)
    replace_file(path, f"{text}\n", option="--into")
