"""Several verdicts as one value: paragraphs for people and one document for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headwise.core.text import wrap
from headwise.paper.manifest import ENTRIES
from headwise.paper.verdict import Verdict
from headwise.paper.verdict_file import OUTCOMES, to_document

PLACES = {"fig": "Fig.", "sec": "Sec.", "app": "App.", "tab": "Table", "thm": "Theorem", "lem": "Lemma", "eq": "Eq."}
"""Kinds of labels in the paper's source, and what a reader calls them."""


@dataclass(frozen=True)
class Verdicts:
    """Verdicts in the order of the claims; `str` of this is what `headwise reproduce` prints."""

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
        return "\n\n".join([*map(verdict_text, self), self.summary])

    @property
    def summary(self) -> str:
        """How many claims came out which way."""
        counts = Counter(one.outcome for one in self)
        parts = ", ".join(f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts[outcome])
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
        lines.append(wrap(f"measured: {verdict.numbers}, {verdict.quantity}", indent="  ", hanging="    "))
    lines.append(wrap(f"asked for: {verdict.threshold}", indent="  ", hanging="    "))
    if verdict.published is not None:
        lines.append(f"  printed in the paper: {verdict.published:g}")
    if verdict.outcome != "reproduced":
        notes = verdict.notes.items()
        lines += [wrap(f"seed {seed}: {note}", indent="  ", hanging="    ") for seed, note in notes]
    return "\n".join(lines)


def seeds_text(verdict: Verdict) -> str:
    """How many of how many seeds passed."""
    return f"{verdict.passed} of {verdict.of} seed{'s' if verdict.of != 1 else ''}"


def place(label: str) -> str:
    """Labels of the paper's source as a reader says them.

    >>> place("fig:kl left, minimal model"), place("sec. 3, app. B, C")
    ('Fig. kl left, minimal model', 'sec. 3, app. B, C')
    """
    for kind, word in PLACES.items():
        label = label.replace(f"{kind}:", f"{word} ")
    return label
