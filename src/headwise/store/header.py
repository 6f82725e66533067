"""`coordinates.json`, the first file of a run: how its arrays are to be read, and which run it is.

Format 1 has `coordinates` and `attributes` only. Format 2, which every new run has, adds
    format          2
    content, seed   what the results depend on
    name            whether the digits in the directory's name are those of the `content`, or of a `place` where
                    something lies that a run is about
    identity        the digest of these two, which every other file carries too
    config_sha256   the digest of config.json
    seal            the digest of all of this
A run of format 1 is read, verified and resumed, and what is added to it stays format 1. In a run of format 2 a file
that lacks what format 2 promises is damaged, never taken for an old one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headwise.core.errors import ConfigError
from headwise.store.documents import json_file, require_seal, sealed
from headwise.store.identity import RunIdentity

FORMAT = 2
ROUNDING = 1e-9
"""How far a computed attribute may be off, relative to itself: sums in double precision are off by far less."""
BY_CONTENT, BY_PLACE = "content", "place"


@dataclass(frozen=True)
class RunHeader:
    """What coordinates.json holds; no identity and no digest of the config in format 1."""

    coordinates: Mapping[str, Any]
    attributes: Mapping[str, Any]
    identity: RunIdentity | None = None
    config_sha256: str | None = None
    name: str = BY_CONTENT

    @property
    def format(self) -> int:
        """Which format the files of this run have."""
        return 1 if self.identity is None else FORMAT

    @property
    def file_identity(self) -> str | None:
        """What every other file of the run carries."""
        return None if self.identity is None else self.identity.digest

    def encode(self) -> bytes:
        """The bytes of the file."""
        content: dict[str, Any] = {"coordinates": self.coordinates, "attributes": self.attributes}
        if self.identity is None:
            return json_file(content)
        return json_file(
            sealed(
                {
                    **content,
                    "format": FORMAT,
                    "content": self.identity.content,
                    "seed": self.identity.seed,
                    "name": self.name,
                    "identity": self.identity.digest,
                    "config_sha256": self.config_sha256,
                }
            )
        )


def decode_header(content: dict[str, Any]) -> RunHeader:
    """The inverse of `RunHeader.encode`; ValueError or KeyError when this is something else."""
    if set(content) == {"coordinates", "attributes"}:
        return RunHeader(content["coordinates"], content["attributes"])
    version = content["format"]
    if type(version) is int and version > FORMAT:
        raise ConfigError(f"it has format {version}, this headwise knows formats 1 to {FORMAT}; update headwise")
    if version != FORMAT:
        raise ValueError(f"it has format {version!r}, which there is not")
    require_seal(content)
    identity = RunIdentity(content["content"], int(content["seed"]))
    if content["identity"] != identity.digest:
        raise ValueError("the identity in it is not that of its content and seed")
    if content["name"] not in (BY_CONTENT, BY_PLACE):
        raise ValueError(f"it is named by {content['name']!r}, which no run is")
    return RunHeader(
        content["coordinates"], content["attributes"], identity, content["config_sha256"], name=content["name"]
    )


def same_to_rounding(stored: bytes, asked: bytes) -> bool:
    """Whether two files say the same but for the last digits of numbers among their attributes.

    Some attributes are computed, such as the loss of the true law, and another processor or another numpy sums them in
    another order. That makes no other run of it.
    """
    documents = [json.loads(content) for content in (stored, asked)]
    attributes = [document.pop("attributes") for document in documents]
    for document in documents:
        document.pop("seal", None)
    return documents[0] == documents[1] and _near(*attributes)


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=ROUNDING)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_near(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_near, one, other))
    return bool(one == other)
