"""What a report of one run says in words, in a fixed order; many events of one kind become one sentence.

Transitions come first because they tie events of layers and of the loss together; then phases, offshoots and additions,
roles, which heads are needed, where the loss climbs, what cannot be told, and what to know about the reading itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headwise.core.events import Offshoot
from headwise.phases.acquired_roles import RoleEvent
from headwise.phases.importance_text import importance_sentences
from headwise.phases.rises import Interval
from headwise.phases.role_names import head_name, lag_of, pattern_words, role_words

if TYPE_CHECKING:
    from headwise.phases.run_report import RunReport

NAMED = 6
"""Events of one kind that are told one by one; more of them are counted."""


def sentences(report: RunReport) -> Iterator[str]:
    """Every sentence of the report."""
    yield from _transitions(report)
    yield from _phases(report)
    yield from _changes(report.offshoots, "leaves", several=len(report.events) > 1)
    yield from _changes(report.adds, "adds", several=len(report.events) > 1)
    yield from _compensation(report)
    yield from _duplicates(report)
    yield from _roles(report)
    yield from importance_sentences(report.importance)
    yield from _climbs(report)
    yield from _undecided(report)
    yield from report.function.sentences
    if report.agreement.agrees is not None:
        yield "the views agree" if report.agreement.agrees else "the views do not agree"
    yield from report.agreement.notes
    yield from report.notes


def event_sentences(report: RunReport) -> Iterator[str]:
    """What happened beside phases and offshoots, for a page that draws those."""
    yield from _transitions(report)
    yield from _changes(report.adds, "adds", several=len(report.events) > 1)
    yield from _roles(report)
    yield from importance_sentences(report.importance)
    yield from _climbs(report)
    yield from _undecided(report)


def _transitions(report: RunReport) -> Iterator[str]:
    for transition in report.transitions[:NAMED]:
        yield transition.sentence
    if len(report.transitions) > NAMED:
        yield f"{len(report.transitions) - NAMED} more transitions; `transitions` of the JSON lists them"


def _climbs(report: RunReport) -> Iterator[str]:
    for climb in report.climbs[:NAMED]:
        yield climb.sentence
    if len(report.climbs) > NAMED:
        yield f"{len(report.climbs) - NAMED} more climbs of the loss; `climbs` of the JSON lists them"


def within(interval: Interval | None) -> str:
    """An interval after a time, where there is one to speak of."""
    if interval is None or interval[0] == interval[1]:
        return ""
    return f" (between {interval[0]:.4g} and {interval[1]:.4g})"


def _phases(report: RunReport) -> Iterator[str]:
    if report.competitive:
        yield f"competitive phase from {report.competitive.start:.4g} to {report.competitive.end:.4g}"
    several = len(report.events) > 1
    shared = [events.shared for events in report.events if events.shared is not None]
    for one in shared[:NAMED]:
        where = f" of block {one.block}" if several else ""
        yield (
            f"all heads{where} share {pattern_words(one.label)} from {one.span.start:.4g} to {one.span.end:.4g} "
            "and nobody leaves it: shared, not competition"
        )
    if len(shared) > NAMED:
        yield f"{len(shared) - NAMED} more blocks share a pattern that nobody leaves"


def _changes(events: Sequence[Offshoot], verb: str, *, several: bool) -> Iterator[str]:
    if len(events) > NAMED:
        first = events[0]
        name = head_name(first.block, first.head, several_blocks=several)
        what = "leave their pattern for another" if verb == "leaves" else "add a pattern to their own"
        yield (
            f"{len(events)} times heads {what}, first {name} at {first.step:.4g}{within(first.interval)}, last at "
            f"{events[-1].step:.4g}"
        )
        return
    for o in events:
        who = head_name(o.block, o.head, several_blocks=several)
        old, new = pattern_words(o.source), pattern_words(o.target)
        if verb == "leaves":
            yield f"offshoot at {o.step:.4g}: {who} leaves {old} for {new}{within(o.interval)}"
        else:
            yield f"addition at {o.step:.4g}: {who} adds {new} and keeps {old}{within(o.interval)}"


def _compensation(report: RunReport) -> Iterator[str]:
    for item in report.compensation:
        if item.deepest is not None:
            where = f" in block {item.offshoot.block}" if len(report.events) > 1 else ""
            yield f"compensation for {pattern_words(item.offshoot.target)}{where}: {item.deepest.in_words}"


def _duplicates(report: RunReport) -> Iterator[str]:
    several = len(report.events) > 1
    found = [
        (events, label, owners)
        for events in report.events
        for label, owners in events.specialisation.duplicates.items()
    ]
    for events, label, owners in found[:NAMED]:
        if several and len(owners) == len(events.specialisation.final):
            who = f"all heads of block {events.block}"
        elif several:
            who = ", ".join(head_name(events.block, head, several_blocks=True) for head in owners)
        else:
            who = f"heads {', '.join(map(str, owners))}"
        yield f"{who} end on the same {pattern_words(label)}"
    if len(found) > NAMED:
        yield f"{len(found) - NAMED} more times several heads of a block end on the same pattern"


def _roles(report: RunReport) -> Iterator[str]:
    """Roles by kind. Where groups are given, patterns say what lags would say again."""
    told = [role for role in report.roles if report.found or lag_of(role.role) is None]
    several = max((role.block for role in report.roles), default=1) > 1 or len(report.events) > 1
    for name in dict.fromkeys(role.role for role in told):
        own = [role for role in told if role.role == name]
        kind = role_words(name)
        if len(own) > NAMED:
            first = own[0]
            place = head_name(first.block, first.head, several_blocks=several)
            heads = len({(role.block, role.head) for role in own})
            yield f"{heads} {kind} heads, first {place}, {_when(first, report)}"
            continue
        for role in own:
            place = head_name(role.block, role.head, several_blocks=several)
            lost = "" if role.end >= report.end else f" to {role.end:.4g}"
            score = f"{role.score:.2f} above chance {role.chance:.2f}"
            yield f"{kind} head: {place}, {_when(role, report)}{lost}, {score}"


def _when(role: RoleEvent, report: RunReport) -> str:
    if role.start <= report.start:
        return "from the first look on"
    return f"from {role.start:.4g}{within(role.interval)}"


def _undecided(report: RunReport) -> Iterator[str]:
    several = len(report.events) > 1
    for item in report.undecided[:NAMED]:
        who = ""
        if item.block is not None and item.head is not None:
            who = f"{head_name(item.block, item.head, several_blocks=several)} "
        at = "" if item.step is None else f" at {item.step:.4g}"
        yield f"cannot tell: {who}{item.what}{at}: {item.reason}"
    if len(report.undecided) > NAMED:
        yield f"cannot tell: {len(report.undecided) - NAMED} more statements; `undecided` of the JSON lists them"
