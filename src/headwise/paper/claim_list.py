"""What of the paper can be reproduced: every claim, figure and table with its cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headwise.core.named_options import named_options
from headwise.core.text import definitions, wrap
from headwise.paper.entry import Claim, Figure
from headwise.paper.manifest import ENTRIES, HEADLINE
from headwise.paper.places import place
from headwise.paper.plan import cost
from headwise.paper.scale import Scale
from headwise.study.cost import readable


@dataclass(frozen=True)
class ClaimList:
    """Every entry of the paper at one scale; `str` of this is what `headwise reproduce --list` prints."""

    entries: tuple[Claim | Figure, ...]
    scale: Scale

    def to_json(self) -> list[dict[str, Any]]:
        """`name`, `kind`, `label`, `cost`, `about`, `experiments` and `headline` of each entry, ready for JSON."""
        return [
            {
                "name": entry.name,
                "kind": entry.kind,
                "label": entry.label,
                "cost": round(cost(entry, self.scale), 1),
                "about": entry.about,
                "experiments": list(entry.experiments),
                "headline": entry.name in HEADLINE,
            }
            for entry in self.entries
        ]

    def __str__(self) -> str:
        lines = [
            (
                f"{'*' if entry.name in HEADLINE else ' '} {entry.name}",
                f"{entry.kind}, {readable(cost(entry, self.scale))}: {entry.about} [{place(entry.label)}]",
            )
            for entry in self.entries
        ]
        note = f"* runs when no name is given; times are for one seed at {self.scale} scale on one thread"
        return f"{definitions(lines, indent=0)}\n{wrap(note)}"


@named_options
def list_claims(scale: Scale = "quick") -> ClaimList:
    """The names that `reproduce` takes, with what each says and how long one seed takes.

    >>> from headwise import list_claims
    >>> [entry.about for entry in list_claims().entries if entry.name == "specialisation"]
    ['at the end each head copies a different group']
    """
    return ClaimList(tuple(ENTRIES.values()), scale)
