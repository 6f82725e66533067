"""Several verdicts as one value: a table for people and one document for programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headwise.core.text import definitions, text_table, wrap
from headwise.paper.verdict import Verdict
from headwise.paper.verdict_file import to_document


@dataclass(frozen=True)
class Verdicts:
    """Verdicts in the order of the claims; `str` of this is the table that `headwise reproduce` prints."""

    verdicts: tuple[Verdict, ...]

    def to_json(self) -> dict[str, Any]:
        """`schema` and `verdicts`, ready for JSON."""
        return to_document(self.verdicts)

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)

    def __str__(self) -> str:
        if not self.verdicts:
            return ""
        rows = [
            (one.claim, one.preset, one.text, one.numbers, "" if one.published is None else f"{one.published:.3g}")
            for one in self
        ]
        table = text_table(("claim", "reading", "verdict", "measured", "published"), rows)
        asked = definitions(list({one.claim: one.threshold for one in self}.items()))
        notes = [
            wrap(f"{one.claim} ({one.preset}), seed {seed}: {note}", hanging="  ")
            for one in self
            if one.outcome != "reproduced"
            for seed, note in one.notes.items()
        ]
        return "\n".join([table, "", "a claim is reproduced where", asked, *(["", *notes] if notes else [])])
