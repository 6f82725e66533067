"""One verdict for each numbered result of §3 and its appendices, from the statements that make it up.

Steps of a proof are statements of their own and do not enter here: a theorem whose proof has a mistake may still hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from headwise.theory.registry import Result
from headwise.theory.statement import Fault, Verdict

NUMBERED = (
    "Proposition matrix",
    "Theorem coupling",
    "Theorem bounded",
    "Remark initialization",
    "Theorem boundedcoop",
    "Lemma optimality",
    "Theorem cooperative",
    "Lemma kernel",
    "Lemma ordering",
    "Remark init_loss",
    "Theorem higher",
)
"""Propositions, theorems, lemmas and remarks, in the order of the paper, under the names of their labels."""

WORST_FIRST: tuple[Verdict, ...] = ("fails", "depends", "approximate", "holds")


@dataclass(frozen=True)
class NumberedResult:
    """A numbered result: its verdict as printed and as corrected is the worst of its parts, named in `statements`.

    `remark` says what holds instead, or under which reading it fails.
    """

    name: str
    printed: Verdict
    corrected: Verdict
    fault: Fault | Literal["unclassified"] | None
    statements: tuple[str, ...]
    remark: str


def belongs_to(label: str) -> str | None:
    """The numbered result that a statement of this label states; None for steps of proofs and for other text."""
    head, _, rest = label.partition(",")
    return head if head in NUMBERED and "proof" not in rest else None


def numbered_results(results: Sequence[Result]) -> list[NumberedResult]:
    """A verdict for every numbered result of which a statement was checked."""
    found = []
    for name in NUMBERED:
        parts = [result for result in results if belongs_to(result.label) == name]
        if parts:
            decisive = min(parts, key=lambda part: WORST_FIRST.index(part.printed.verdict))
            corrected = min((part.corrected.verdict for part in parts), key=WORST_FIRST.index)
            statements = tuple(part.name for part in parts)
            found.append(
                NumberedResult(name, decisive.printed.verdict, corrected, decisive.fault, statements, _remark(decisive))
            )
    return found


def _remark(result: Result) -> str:
    if result.printed.verdict == "depends":
        return "; ".join(f"{outcome.verdict} if {words}" for words, outcome in result.readings)
    return f"what holds: {result.correction}" if result.fault else ""
