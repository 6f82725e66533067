"""What the truth says: one event, with the interval of steps in which it happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

What = Literal["lag", "induction", "leaving", "adding", "competition", "boundary"]
WHATS: tuple[What, ...] = ("lag", "induction", "leaving", "adding", "competition", "boundary")
Value = Literal["clear", "borderline"]


@dataclass(frozen=True)
class Event:
    """Blocks and heads count from 1; 0 where the event has none. `lag` is the one acquired or competed for."""

    what: What
    value: Value
    start: float
    end: float
    block: int = 0
    head: int = 0
    lag: int | None = None
    old_lag: int | None = None
    """for leaving and adding: the lag that was the head's largest"""

    @property
    def clear(self) -> bool:
        return self.value == "clear"
