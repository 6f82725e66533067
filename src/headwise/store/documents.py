"""The JSON files of a run as bytes and back, and a seal that makes an edited value show.

The seal is a digest of all other values. It is no signature: whoever computes it anew is not found out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headwise.core.errors import CorruptData
from headwise.store.files import Verified, verified
from headwise.store.plain import portable_json, require_object

SEAL = "seal"


def json_file(content: Mapping[str, Any]) -> bytes:
    """The bytes of a JSON file: the same for the same content, and readable by people."""
    return (portable_json(content, indent=2) + "\n").encode()


def json_digest(content: Mapping[str, Any]) -> str:
    """The SHA-256 of a JSON file with this content."""
    return hashlib.sha256(json_file(content)).hexdigest()


def sealed(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content with its seal."""
    return {**content, SEAL: _seal_of(content)}


def require_seal(content: Mapping[str, Any]) -> None:
    """ValueError unless the content is as it was when it was sealed."""
    if content.get(SEAL) != _seal_of({key: value for key, value in content.items() if key != SEAL}):
        raise ValueError("a value in it was changed after it was written")


def read_object(path: Path) -> dict[str, Any]:
    """The verified content of a JSON file that holds one object."""
    return parse_object(path, verified(path))


def parse_object(path: Path, file: Verified) -> dict[str, Any]:
    """The object in bytes that were verified; `CorruptData` when they are not one."""
    try:
        content: dict[str, Any] = json.loads(file.content)
        require_object(content)
    except (ValueError, RecursionError) as error:
        raise CorruptData(f"{path} is damaged: {error}") from error
    return content


def _seal_of(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(portable_json(content).encode()).hexdigest()
