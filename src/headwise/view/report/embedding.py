"""Picture files inside a page, as data addresses, each file once however many rows show it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwise.core.errors import ConfigError

KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
FIGURE_BYTES = 8_000_000
"""Figures beyond this are named but not embedded: a page that cannot be mailed is no page."""


@dataclass(frozen=True)
class Embedded:
    """Data addresses by name, the names that each row shows, and what did not fit."""

    addresses: dict[str, str]
    shown: list[list[str]]
    left_out: list[str]


def embed(rows: Sequence[tuple[str, Sequence[Path | str]]]) -> Embedded:
    """Read the files of every row; a row is its name and its files."""
    names: dict[Path, str] = {}
    found = Embedded({}, [], [])
    used = 0
    for row, files in rows:
        found.shown.append([])
        for path in map(Path, files):
            if path not in names:
                content, kind = _read_figure(path)
                if used + len(content) > FIGURE_BYTES:
                    found.left_out.append(f"{row}: {path.name}")
                    continue
                used += len(content)
                names[path] = path.name if path.name not in found.addresses else f"{row}: {path.name}"
                found.addresses[names[path]] = f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
            found.shown[-1].append(names[path])
    return found


def _read_figure(path: Path) -> tuple[bytes, str]:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"{path}: a figure on a page ends in {', '.join(KINDS)}")
    try:
        return path.read_bytes(), kind
    except OSError as error:
        raise ConfigError(f"cannot read figure {path}: {(error.strerror or str(error)).lower()}") from None
