"""Transitions: events of different layers and of the loss that belong together, told as one, in their order.

A drop of the loss gathers the roles that heads take up while it happens. Roles that nobody's drop explains belong
together where heads of different layers take them up at the same time: that is how layers compose. A single event is no
transition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headwise.phases.acquired_roles import RoleEvent
from headwise.phases.heads import HeadsView
from headwise.phases.rises import Interval, hull
from headwise.phases.role_names import head_name, pattern_words, role_words
from headwise.phases.views import View

NAMED = 4
"""Heads of one kind that a transition names one by one."""


@dataclass(frozen=True)
class Part:
    """One event of a transition, in words, with its time; `kind` says what several heads have in common."""

    step: float
    what: str
    kind: str
    interval: Interval
    block: int | None = None
    head: int | None = None


@dataclass(frozen=True)
class Transition:
    """Parts in time order."""

    parts: tuple[Part, ...]

    @property
    def interval(self) -> Interval:
        """From the first sign of it to the last."""
        return hull(*(part.interval for part in self.parts))

    @property
    def start(self) -> float:
        return self.parts[0].step

    @property
    def end(self) -> float:
        return self.parts[-1].step

    @property
    def sentence(self) -> str:
        """The parts with their times and the gaps between them; many heads of one kind are counted."""
        told: list[str] = []
        previous: float | None = None
        for part, count in _counted(self.parts):
            gap = "" if previous is None else f" ({_gap(part.step - previous)} later)"
            many = f"{count} times {part.kind}, first " if count > 1 else ""
            told.append(f"{many}{part.what} at {part.step:.4g}{gap}")
            previous = part.step
        return "transition: " + ", ".join(told)


def _gap(time: float) -> str:
    """What lies between two parts; fractions of a step say more than any look can tell."""
    return f"{time:.4g}" if time >= 1 else "less than 1"


def find_transitions(parts: Sequence[Part], drops: Sequence[Part]) -> list[Transition]:
    """Transitions in time order, from what heads take up and from drops of the loss."""
    groups: list[list[Part]] = [[drop] for drop in drops]
    rest: list[Part] = []
    for part in parts:
        near = [group for group in groups if _during(part, group[0])]
        if near:
            min(near, key=lambda group: abs(group[0].step - part.step)).append(part)
        else:
            rest.append(part)
    groups += _composed(rest)
    found = [Transition(tuple(sorted(group, key=lambda p: p.step))) for group in groups if len(group) > 1]
    return sorted(found, key=lambda transition: transition.start)


def drop_parts(loss: View) -> list[Part]:
    """Every drop between two stages of the loss."""
    return [
        Part(stage.start, "loss drop", "loss drop", stage.interval or (stage.start, stage.start))
        for stage in loss.stages[1:]
    ]


def role_parts(roles: Sequence[RoleEvent], *, start: float, several_blocks: bool) -> list[Part]:
    """Roles that heads take up; what a head has at the first look was taken up before anybody looked."""
    found = []
    for role in roles:
        if role.start > start:
            name = head_name(role.block, role.head, several_blocks=several_blocks)
            kind = f"{role_words(role.role)} head"
            # `head 3` has the word already.
            what = f"{role_words(role.role)} {name}" if not several_blocks else f"{kind} {name}"
            found.append(Part(role.start, what, kind, role.interval, role.block, role.head))
    return found


def pattern_parts(blocks: Sequence[HeadsView], *, start: float) -> list[Part]:
    """Patterns of known groups that heads take up, block by block."""
    found = []
    for block, view in enumerate(blocks, start=1):
        for hold in view.holds:
            if hold.start > start:
                name = head_name(block, hold.head, several_blocks=len(blocks) > 1)
                held = f"on {pattern_words(view.patterns[hold.pattern].label)}"
                found.append(Part(hold.start, f"{name} {held}", f"head {held}", hold.interval, block, hold.head))
    return found


def _during(part: Part, drop: Part) -> bool:
    """Whether it happens while the loss drops, or as long before or after it as the drop takes."""
    low, high = drop.interval
    return low - (high - low) <= part.step <= high + (high - low)


def _overlap(one: Part, other: Part) -> bool:
    return one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]


def _composed(parts: Sequence[Part]) -> list[list[Part]]:
    """Groups of roles of several layers that were all taken up during one and the same time."""
    groups: list[list[Part]] = []
    for part in sorted(parts, key=lambda p: p.step):
        if groups and all(_overlap(part, other) for other in groups[-1]):
            groups[-1].append(part)
        else:
            groups.append([part])
    return [group for group in groups if _compose(group)]


def _compose(group: Sequence[Part]) -> bool:
    """Whether a head that looks for copies stands above a layer in which another head took up something with it."""
    above = [part.block for part in group if part.kind == f"{role_words('induction')} head" and part.block is not None]
    return any(part.block is not None and part.block < block for block in above for part in group)


def _counted(parts: Sequence[Part]) -> list[tuple[Part, int]]:
    """The parts, with many of one kind told once by the first of them."""
    counts = {part.kind: sum(other.kind == part.kind for other in parts) for part in parts}
    told: list[tuple[Part, int]] = []
    for part in parts:
        if counts[part.kind] <= NAMED:
            told.append((part, 1))
        elif all(other.kind != part.kind for other, _ in told):
            told.append((part, counts[part.kind]))
    return told
