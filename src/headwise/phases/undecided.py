"""What a report cannot decide, and why: the third answer beside yes and no."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Undecided:
    """A statement about a head (or a block, or the run where these are None) that stays open."""

    what: str
    reason: str
    block: int | None = None
    head: int | None = None
    step: float | None = None
