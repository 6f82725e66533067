"""Token classes of the user's own: ids by name, from a JSON file or a mapping, such as {"newline": [10, 13]}."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError
from headwise.probe.foreign_json import LARGEST_BYTES, printable

Classes = Mapping[str, Sequence[int]]

EXAMPLE = '{"newline": [10, 13]}'


def read_classes(given: Path | str | Classes) -> dict[str, list[int]]:
    """Ids by name; a file is read as JSON."""
    if isinstance(given, Mapping):
        return _checked(dict(given), "classes")
    path = Path(given)
    where = f"--classes {path}"
    if path.exists() and not path.is_file():
        raise ConfigError(f"{where} is not an ordinary file; give token ids by name as JSON, such as {EXAMPLE}")
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{where} cannot be read: {error.strerror or error}") from None
    if len(content) > LARGEST_BYTES:
        raise ConfigError(f"{where} has more than {LARGEST_BYTES} bytes, too many for token classes")
    try:
        return _checked(json.loads(content, object_pairs_hook=_without_repetition), where)
    except RecursionError:
        raise ConfigError(f"{where} cannot be read: nested too deeply") from None
    except ValueError as error:
        raise ConfigError(f"{where} cannot be read: {printable(error, most=300)}") from None


def require_in_vocabulary(classes: Classes, size: int) -> None:
    """Every id is one of the model's."""
    for name, ids in classes.items():
        if not 0 <= min(ids) <= max(ids) < size:
            raise ConfigError(
                f"--classes: the ids of {printable(name)!r} range over {min(ids)}..{max(ids)}, "
                f"the model has 0..{size - 1}"
            )


def classes_digest(classes: Classes) -> str:
    """SHA-256 of names and ids, in their order."""
    return hashlib.sha256(json.dumps([[name, list(ids)] for name, ids in classes.items()]).encode()).hexdigest()


def _checked(content: Any, where: str) -> dict[str, list[int]]:
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"{where}: give token ids by name, such as {EXAMPLE}")
    for name, ids in content.items():
        shown = printable(name)
        if not isinstance(name, str) or not name.strip() or shown != name:
            raise ConfigError(f"{where}: {shown!r} is no name of a class; give one line of at most 120 characters")
        whole = isinstance(ids, Sequence) and not isinstance(ids, str | bytes) and len(ids) > 0
        if not whole or not all(isinstance(i, int) and not isinstance(i, bool) for i in ids):
            raise ConfigError(f"{where}: {shown!r} needs a list of token ids, such as {EXAMPLE}")
    return {name: [int(i) for i in ids] for name, ids in content.items()}


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{printable(twice)!r} stands there twice")
    return dict(pairs)
