"""TOML and JSON that a person or another program wrote: values, or a ValueError, whatever the text is."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

LARGEST_BYTES = 16 * 2**20
"""Far more than any settings or list of verdicts; a device or a wrong file would be read until memory is full."""


def read_foreign(path: Path) -> str:
    """The text of a file; ValueError when it is no UTF-8 or too long, OSError when it cannot be read."""
    with open(path, "rb") as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise ValueError(f"it has more than {LARGEST_BYTES // 2**20} MiB")
    return content.decode("utf-8")


def parse_json(text: str | bytes) -> Any:
    """`json.loads`, with text that is nested too deeply among what is wrong.

    >>> parse_json("[" * 100_000)
    Traceback (most recent call last):
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_toml(text: str) -> dict[str, Any]:
    """`tomllib.loads`, with text that is nested too deeply among what is wrong."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
