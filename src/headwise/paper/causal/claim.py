"""What a causal claim is: a statement, a limit that was written down beforehand, and the branches that test it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headwise.paper.causal.trial import Trial
from headwise.paper.limit import Limit
from headwise.paper.verdict import Judgement


@dataclass(frozen=True)
class CausalClaim:
    """One claim; `judge` makes the branches of one trial and compares them with the run and with a sham."""

    name: str
    statement: str
    quantity: str
    threshold: str
    """Direction, limit and null, in words."""
    limit: Limit | None
    judge: Callable[[Trial], Judgement]
