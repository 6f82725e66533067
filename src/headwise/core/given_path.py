"""Paths as they are given: refused before anything is computed when no file can have such a name."""

from __future__ import annotations

import os
from pathlib import Path

from headwise.core.errors import ConfigError

LONGEST_NAME = 255
LONGEST_PATH = 4095
"""Bytes, on the file systems in use; where less is possible the operating system says so."""

SHOWN = 60


def given_path(text: str) -> Path:
    """The path, once it is one that can exist: not empty, no null character, no name that is too long.

    >>> given_path("runs/minimal")
    PosixPath('runs/minimal')
    """
    try:
        name = os.fsencode(text)
    except UnicodeEncodeError:
        raise ConfigError(f"{_short(text)} holds characters that no file name can have; give a plain path") from None
    if not name:
        raise ConfigError("a path is empty; give the name of a file or directory, or . for the present one")
    if b"\0" in name:
        raise ConfigError(f"{_short(text)} holds a null character; give a plain path")
    longest = max(len(part) for part in name.split(b"/"))
    if longest > LONGEST_NAME:
        raise ConfigError(
            f"{_short(text)} holds a name of {longest} bytes, names have at most {LONGEST_NAME}; shorten it"
        )
    if len(name) > LONGEST_PATH:
        raise ConfigError(f"{_short(text)} has {len(name)} bytes, paths have at most {LONGEST_PATH}; shorten it")
    return Path(text)


def _short(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
