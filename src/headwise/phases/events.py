"""Phases and events of the heads of a block: competition, offshoots, additions, cooperation, specialisation (§2.3).

*Competitive phase*: all heads have the same largest pattern (`competition`). *Offshoot*: a head leaves its largest
pattern for one that it has not copied before; a head that keeps the old one *adds* the new one (`leaving`).
*Cooperative phase*: from the first offshoot after the competitive phase on. A head that never copied anything before
its pattern is not an offshoot: it left nobody. A single head has nobody to leave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from headwise.core.events import Label, Offshoot
from headwise.phases.competition import Shared, Span, common_stretches, long_enough, until_somebody_leaves
from headwise.phases.config import Thresholds
from headwise.phases.heads import Copying, HeadsView
from headwise.phases.leaving import Change, find_changes
from headwise.phases.series import Series
from headwise.phases.undecided import Undecided


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
    view: HeadsView, heads: int, thresholds: Thresholds, block: int = 1, *, loss_moves: bool | None = None
) -> Events:
    """Phases and events of one block's heads. `loss_moves` is None where no loss was recorded.

    While the loss is known not to move, heads that change their pattern drift: every change is one nobody can tell.
    """
    if not len(view.steps):
        return Events(block, None, None, (), Specialisation(dict.fromkeys(range(1, heads + 1)), (), {}))
    last = float(view.steps[-1])
    series = Series(view.steps, view.shares)
    paths = {head: [c for c in view.copying if c.head == head] for head in range(1, heads + 1)}
    changes = find_changes(series, view.holds, view.patterns, thresholds, block) if heads > 1 else []
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


def open_changes(events: Events) -> list[Undecided]:
    """What a block's heads may have done: changes that nobody can tell, and a pattern that is merely shared."""
    found = []
    for change in events.unsure:
        event = change.event
        reason = f"the old pattern loses {change.fall:.0%} of its height"
        if change.kind != "cannot tell":
            reason = "the loss does not move, so this may be drift"
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
        if (left or learning) and long_enough(series, span, thresholds):
            spans.append(span)
        else:
            shared.append(Shared(block, label, stretch))
    if spans:
        return max(spans, key=lambda span: span.end - span.start), None
    return None, max(shared, key=lambda one: one.span.end - one.span.start, default=None)


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
