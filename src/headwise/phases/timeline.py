"""A report of one run as a timeline: what there is to draw, as plain data. Text, HTML and figures draw it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from headwise.core.events import Label, Offshoot
from headwise.phases.competition import Span
from headwise.phases.patterns import Pattern
from headwise.phases.views import Stage, ViewName

MOST_ROWS = 60
"""Heads that a timeline draws."""


@dataclass(frozen=True)
class Bar:
    """A stretch of one row of the timeline."""

    start: float
    end: float
    label: Label


@dataclass(frozen=True)
class Row:
    """What one head of one block copies over time."""

    block: int
    head: int
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class Timeline:
    """Everything a timeline shows of one run: a row of bars per head, stages per view, events, the index curve.

    `sentences` say in words what happened and what to know about it.
    """

    start: float
    end: float
    rows: tuple[Row, ...]
    stages: dict[ViewName, tuple[Stage, ...]]
    offshoots: tuple[Offshoot, ...]
    competitive: Span | None
    index_steps: np.ndarray
    index: np.ndarray
    patterns: tuple[Pattern, ...]
    sentences: tuple[str, ...]

    def shortened(self) -> Timeline:
        """The timeline with at most `MOST_ROWS` heads: those that copy something, the first to do so first."""
        if len(self.rows) <= MOST_ROWS:
            return self
        early = sorted(self.rows, key=lambda row: min((bar.start for bar in row.bars), default=np.inf))
        chosen = set(early[:MOST_ROWS])
        hidden = f"{len(self.rows) - MOST_ROWS} of {len(self.rows)} heads"
        told = f"{hidden} are not drawn: those that copy nothing or take it up last"
        rows = tuple(row for row in self.rows if row in chosen)
        return replace(self, rows=rows, sentences=(*self.sentences, told))

    @property
    def drawn(self) -> frozenset[Label]:
        """The patterns that some row shows, which a legend needs to name."""
        return frozenset(bar.label for row in self.rows for bar in row.bars)

    @property
    def head_names(self) -> tuple[str, ...]:
        """What each row is called: `head 2`, or `head 1.2` where there are several blocks."""
        several = len({row.block for row in self.rows}) > 1
        return tuple(f"head {row.block}.{row.head}" if several else f"head {row.head}" for row in self.rows)


def pattern_text(pattern: Pattern) -> str:
    """A pattern in words: its lags, or its group where the lags are not known."""
    if not pattern.lags:
        return f"group {pattern.label}"
    return f"lag{'s' * (len(pattern.lags) > 1)} {','.join(map(str, pattern.lags))}"
