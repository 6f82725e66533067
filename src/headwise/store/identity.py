"""Which run a file belongs to: what the run's results depend on and its seed, never labels, places, times or machines.

The same run therefore has the same identity, and the same bytes, wherever and whenever it is computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headwise.core.config import canonical_json, content_hash
from headwise.core.keys import flatten

MOST_SHOWN = 3


@dataclass(frozen=True)
class RunIdentity:
    """What a run's results depend on, as JSON values, and its seed."""

    content: Mapping[str, Any]
    seed: int
    kept_in_format_1: Mapping[str, Any] | None = field(default=None, compare=False)
    """What a run of format 1 kept of the content, where that is something else."""
    named_by: Mapping[str, Any] | None = field(default=None, compare=False)
    """What the digits in the run's path are made from, where that is not the content; no file carries it."""

    @property
    def config_hash(self) -> str:
        """The digits that name the content."""
        return content_hash(self.content)

    @property
    def path_hash(self) -> str:
        """The digits in the path of the run."""
        return content_hash(self.content if self.named_by is None else self.named_by)

    @property
    def digest(self) -> str:
        """64 hexadecimal digits that every file of the run carries."""
        return hashlib.sha256(canonical_json({"content": self.content, "seed": self.seed}).encode()).hexdigest()

    def as_kept(self, version: int) -> RunIdentity:
        """This identity as far as runs of that format keep it."""
        return self if version > 1 or self.kept_in_format_1 is None else replace(self, content=self.kept_in_format_1)

    def differences(self, other: RunIdentity) -> list[str]:
        """Where another run differs from this one: `task.m is 1.3, not 1.5`, this one's value first."""
        mine, its = ({**flatten(run.content), "seed": run.seed} for run in (self, other))
        keys = [key for key in {**mine, **its} if _text(mine, key) != _text(its, key)]
        return [f"{key} is {_text(mine, key)}, not {_text(its, key)}" for key in keys]


def shown(differences: list[str]) -> str:
    """The first few differences, and how many more there are."""
    more = len(differences) - MOST_SHOWN
    return "; ".join(differences[:MOST_SHOWN]) + (f"; and {more} more" if more > 0 else "")


def _text(content: Mapping[str, Any], key: str) -> str:
    return canonical_json(content[key]) if key in content else "absent"
