"""Which statements of a report are true: a hit is an overlap of intervals, of one block, head and lag where told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from headwise.zoo.reported import Statement
from headwise.zoo.truth.event import Event


@dataclass(frozen=True)
class Matched:
    """One kind of event in one run, sorted out."""

    hits: list[Statement] = field(default_factory=list)
    unscored: list[Statement] = field(default_factory=list)
    """statements that meet a borderline event only"""
    false: list[Statement] = field(default_factory=list)
    found: list[Event] = field(default_factory=list)
    missed: list[Event] = field(default_factory=list)
    borderline: list[Event] = field(default_factory=list)
    borderline_found: list[Event] = field(default_factory=list)


def match(said: Sequence[Statement], events: Sequence[Event]) -> Matched:
    """Sort statements and events of one kind; each event supports one statement, a statement may cover several lags."""
    result = Matched(borderline=[event for event in events if not event.clear])
    open_events = [event for event in events if event.clear]
    for statement in said:
        met = [event for event in open_events if agrees(statement, event)]
        # A statement about one lag or about none stands for one event.
        taken = met if len(statement.lags) > 1 else met[:1]
        unsure = [event for event in result.borderline if agrees(statement, event)]
        result.borderline_found.extend(event for event in unsure if event not in result.borderline_found)
        if taken:
            result.hits.append(statement)
            result.found.extend(taken)
            open_events = [event for event in open_events if event not in taken]
        elif unsure:
            result.unscored.append(statement)
        else:
            result.false.append(statement)
    result.missed.extend(open_events)
    return result


def agrees(statement: Statement, event: Event) -> bool:
    """Whether a statement says this event."""
    same_place = statement.block in (0, event.block) and statement.head == event.head
    same_lag = not statement.lags or event.lag is None or event.lag in statement.lags
    return same_place and same_lag and statement.start <= event.end and event.start <= statement.end
