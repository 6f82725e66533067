"""Several verdicts as one value: paragraphs for people and one document for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headwise.core.text import text_table, wrap
from headwise.paper.entry import Claim
from headwise.paper.manifest import ENTRIES
from headwise.paper.places import place
from headwise.paper.verdict import Verdict
from headwise.paper.verdict_file import OUTCOMES, to_document

AT_A_GLANCE = 6
"""From how many verdicts on a table follows their paragraphs."""

SHORT = {"partly reproduced": "in part"}
"""Words that are shorter in the table, so that a row is a line of 80 columns; how many seeds stands beside them."""


@dataclass(frozen=True)
class Verdicts:
    """Verdicts in the order of the claims; `str` of this is what `headwise reproduce` prints, numbers apart."""

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
        table = [self.table] if len(self) >= AT_A_GLANCE else []
        return "\n\n".join([*map(verdict_text, self), *table, self.summary])

    @property
    def table(self) -> str:
        """A line for each verdict: in how many seeds or draws it held, what was measured, and its limit."""
        rows = [
            (
                one.claim,
                one.preset,
                "not run" if not_run(one) else SHORT.get(one.outcome, one.outcome),
                f"{one.passed} of {one.of}",
                one.numbers,
                str(one.limit or ""),
            )
            for one in self
        ]
        one_reading = len({one.preset for one in self}) == 1
        columns = ("claim", "reading", "verdict", "held in", "measured", "limit")
        shown = [i for i, name in enumerate(columns) if not (one_reading and name == "reading")]
        return text_table([columns[i] for i in shown], [[row[i] for i in shown] for row in rows])

    @property
    def summary(self) -> str:
        """How many claims came out which way; those that nothing has run for are named apart."""
        counts = Counter("not run" if not_run(one) else one.outcome for one in self)
        parts = ", ".join(f"{counts[outcome]} {outcome}" for outcome in (*OUTCOMES, "not run") if counts[outcome])
        return f"{len(self)} verdict{'s' if len(self) > 1 else ''}: {parts}"


def verdict_text(verdict: Verdict) -> str:
    """A verdict as a paragraph of 80 columns: what was claimed and where, what came out, what was measured and asked.

    A verdict other than reproduced gives the reason of every seed that has one.
    """
    entry = ENTRIES.get(verdict.claim)
    reading = f"{verdict.claim} ({verdict.preset})"
    outcome = verdict.text if verdict.outcome == "partly reproduced" else f"{verdict.text}, {seeds_text(verdict)}"
    lines = [wrap(f"{reading}: {outcome}", hanging="  ")]
    if entry is not None:
        lines.append(wrap(f"claim: {entry.about} [{place(entry.label)}]", indent="  ", hanging="    "))
    if verdict.numbers:
        unit = f" [{unit_of(verdict)}]" if unit_of(verdict) else ""
        lines.append(wrap(f"measured: {verdict.numbers}{unit}, {verdict.quantity}", indent="  ", hanging="    "))
    lines.append(wrap(f"asked for: {verdict.threshold}", indent="  ", hanging="    "))
    if verdict.published is not None:
        lines.append(f"  printed in the paper: {verdict.published:g}")
    if verdict.outcome != "reproduced":
        notes = verdict.notes.items()
        lines += [wrap(f"seed {seed}: {note}", indent="  ", hanging="    ") for seed, note in notes]
    return "\n".join(lines)


def not_run(verdict: Verdict) -> bool:
    """Whether a verdict waits for runs none of which has ended."""
    claim = ENTRIES.get(verdict.claim)
    waits = claim is not None and bool(claim.experiments) and not verdict.runs.get("first_ended")
    return waits and verdict.outcome == "inconclusive"


def seeds_text(verdict: Verdict) -> str:
    """How many of how many seeds passed."""
    return f"{verdict.passed} of {verdict.of} seed{'s' if verdict.of != 1 else ''}"


def unit_of(verdict: Verdict) -> str:
    """The unit of the measured number; empty for a verdict of an earlier test, which measured something else."""
    claim = ENTRIES.get(verdict.claim)
    return claim.unit if isinstance(claim, Claim) and claim.quantity == verdict.quantity else ""
