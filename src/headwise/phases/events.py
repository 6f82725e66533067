"""Phases and events of the heads of a block: competition, offshoots, additions, cooperation, specialisation (§2.3).

*Competitive phase*: all heads have the same largest pattern (`competition`). *Offshoot*: a head leaves its largest
pattern for one that it has not copied before; a head that keeps the old one *adds* the new one (`leaving`).
*Cooperative phase*: from the first offshoot after the competitive phase on. A head that never copied anything before
its pattern is not an offshoot: it left nobody. A single head has nobody to leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from headwise.core.events import Label, Offshoot
from headwise.phases.competition import Shared, Span, common_stretches, long_enough, until_somebody_leaves
from headwise.phases.config import Thresholds
from headwise.phases.heads import Copying, HeadsView
from headwise.phases.leaving import Change, find_changes
from headwise.phases.series import Series
from headwise.phases.undecided import Undecided

STANDS_OUT = 0.15
"""Excess share of one lag from which a found pattern of several lags is more than a blur."""


@dataclass(frozen=True)
class Specialisation:
    """What each head copies at the end (None: nothing), who never left the common pattern, who copies the same."""

    final: dict[int, Label | None]
    never: tuple[int, ...]
    duplicates: dict[Label, tuple[int, ...]]


@dataclass(frozen=True)
class Events:
    """Everything that happens to the heads of one block; `unsure` are changes that may be offshoots or additions."""

    block: int
    competitive: Span | None
    cooperative: Span | None
    offshoots: tuple[Offshoot, ...]
    specialisation: Specialisation
    adds: tuple[Offshoot, ...] = ()
    unsure: tuple[Change, ...] = ()
    shared: Shared | None = None


def find_events(
    view: HeadsView,
    heads: int,
    thresholds: Thresholds,
    block: int = 1,
    *,
    loss_moves: bool | None = None,
    largest_lag: np.ndarray | None = None,
) -> Events:
    """Phases and events of one block's heads. `loss_moves` is None where no loss was recorded. `largest_lag` is, for
    found patterns, the largest excess share of one lag of each pattern, (step, head, pattern).

    While the loss is known not to move, heads that change their pattern drift: every change is one nobody can tell.
    """
    if not len(view.steps):
        return Events(block, None, None, (), Specialisation(dict.fromkeys(range(1, heads + 1)), (), {}))
    last = float(view.steps[-1])
    series = Series(view.steps, view.shares)
    paths = {head: [c for c in view.copying if c.head == head] for head in range(1, heads + 1)}
    changes = find_changes(series, view.holds, view.patterns, thresholds, block) if heads > 1 else []
    if largest_lag is not None:
        changes = [_one_lag(change, view, largest_lag) for change in changes]
    sure = [] if loss_moves is False else changes
    offshoots = [change.event for change in sure if change.kind == "leaves"]
    competitive, shared = _common(view, series, offshoots, thresholds, block, loss_moves=loss_moves)
    after = [o.step for o in offshoots if competitive is None or o.step >= competitive.end]
    return Events(
        block,
        competitive,
        Span(min(after), last) if after else None,
        tuple(offshoots),
        _specialisation(paths, last),
        adds=tuple(change.event for change in sure if change.kind == "adds"),
        unsure=tuple(change for change in changes if change not in sure or change.kind == "cannot tell"),
        shared=shared,
    )


def _one_lag(change: Change, view: HeadsView, largest_lag: np.ndarray) -> Change:
    """The change, or none that can be told where the new pattern is spread so thinly that no lag of it stands out."""
    labels = [pattern.label for pattern in view.patterns]
    later = view.steps >= change.event.step
    curve = largest_lag[later, change.event.head - 1, labels.index(change.event.target)]
    if not len(curve) or curve.max() >= STANDS_OUT:
        return change
    return replace(change, kind="cannot tell", reason="no single lag of the new pattern stands out")


def open_changes(events: Events) -> list[Undecided]:
    """What a block's heads may have done: changes that nobody can tell, and a pattern that is merely shared."""
    found = []
    for change in events.unsure:
        event = change.event
        reason = change.reason or "the loss does not move, so this may be drift"
        what = f"leaves or adds: {event.source} to {event.target}"
        found.append(Undecided(what, reason, event.block, event.head, event.step))
    return found


def _common(
    view: HeadsView,
    series: Series,
    offshoots: Sequence[Offshoot],
    thresholds: Thresholds,
    block: int,
    *,
    loss_moves: bool | None,
) -> tuple[Span | None, Shared | None]:
    """The longest stretch of competition, and where there is none the longest with a merely shared pattern."""
    spans: list[Span] = []
    shared: list[Shared] = []
    for pattern, stretch in common_stretches(series, view.patterns, thresholds):
        label = view.patterns[pattern].label
        span = until_somebody_leaves(stretch, offshoots, label)
        left = any(o.source == label and o.step >= span.end for o in offshoots)
        learning = bool(loss_moves) and isinstance(label, int) and len(view.patterns) > 1
        if (left or learning) and long_enough(series, _with_leaving(stretch, span, offshoots), thresholds):
            spans.append(span)
        else:
            shared.append(Shared(block, label, stretch))
    if spans:
        return max(spans, key=lambda span: span.end - span.start), None
    return None, max(shared, key=lambda one: one.span.end - one.span.start, default=None)


def _with_leaving(stretch: Span, span: Span, offshoots: Sequence[Offshoot]) -> Span:
    """The competitive phase with the time that the first head takes to leave, as far as all heads still agree."""
    ends = [o.interval[1] for o in offshoots if o.step == span.end and o.interval is not None]
    return Span(span.start, max(span.end, min([stretch.end, *ends])))


def _specialisation(paths: dict[int, list[Copying]], last: float) -> Specialisation:
    final = {head: path[-1].label if path and path[-1].end >= last else None for head, path in paths.items()}
    counts = Counter(label for label in final.values() if label is not None)
    duplicates = {
        label: tuple(head for head, own in final.items() if own == label)
        for label, count in counts.items()
        if count > 1
    }
    alone = [head for head, label in final.items() if label is not None and counts[label] == 1]
    never = tuple(
        head for head, path in paths.items() if head not in alone and len({stretch.label for stretch in path}) <= 1
    )
    return Specialisation(final, never, duplicates)
