"""How one file of a run names another, and says which run it belongs to.

In format 2 a file carries the identity of its run, and names a segment by its last step and the SHA-256 of its bytes.
In format 1 it carries none and names a segment by its last step alone; `identity` is then `None`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.store.files import recorded_digest


@dataclass(frozen=True)
class Link:
    """A segment as another file names it; no digest in format 1."""

    end: int
    sha256: str | None


def link_to(end: int, path: Path, *, identity: str | None) -> Link:
    """The link to a segment that has been written."""
    return Link(end, None if identity is None else recorded_digest(path))


def encode_link(link: Link | None) -> Any:
    """A link as the plain values that files hold."""
    if link is None or link.sha256 is None:
        return None if link is None else link.end
    return {"end": link.end, "sha256": link.sha256}


def decode_link(value: Any, *, identity: str | None) -> Link | None:
    """The inverse of `encode_link`; ValueError when the format would hold something else."""
    if value is None:
        return None
    if identity is None and type(value) is int:
        return Link(value, None)
    if identity is not None and isinstance(value, dict) and set(value) == {"end", "sha256"}:
        end, digest = value["end"], value["sha256"]
        if type(end) is int and isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest):
            return Link(end, digest)
    raise ValueError("it does not name the segment before it as the format of this run does")


def marked(metadata: Mapping[str, Any], *, identity: str | None) -> dict[str, Any]:
    """The values that a file carries, with the identity of its run."""
    return dict(metadata) if identity is None else {**metadata, "identity": identity}


def require_member(metadata: Mapping[str, Any], *, identity: str | None) -> None:
    """ValueError unless a file belongs to the run it lies in."""
    if identity is None and "identity" in metadata:
        raise ValueError("it is of a later format than the run it lies in")
    if identity is not None and metadata.get("identity") != identity:
        raise ValueError("it belongs to another run" if "identity" in metadata else "it does not name its run")
