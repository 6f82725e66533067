"""Checked statements as text for a terminal: a verdict for each numbered result, then every statement.

Each number stands beside what is allowed, as in `4.1 > 1e-09`; a note below says what the numbers and classes mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headwise.core.text import text_table, wrap
from headwise.theory.registry import Result
from headwise.theory.statement import FAULTS, Outcome
from headwise.theory.theorems import numbered_results

NUMBERS = (
    "In brackets: the largest error over all random instances, and the largest that is allowed. An identity may be off "
    "by rounding alone; what the error of another statement measures, `headwise check NAME` says."
)


def results_table(results: Sequence[Result], *, explained: bool = False) -> str:
    """The tables and their key; with `explained`, each statement in words instead of the verdicts by theorem."""
    rows = [(one.name, one.label, printed_cell(one), numbers(one.corrected)) for one in results]
    parts = [text_table(("statement", "in the paper", "as printed", "as corrected"), rows), key(results)]
    if explained:
        return "\n\n".join([*parts, *(explanation(one) for one in results)])
    theorems = [
        (one.name, f"{one.printed}: {one.fault}" if one.fault else one.printed, one.corrected)
        for one in numbered_results(results)
    ]
    return "\n\n".join([text_table(("result", "as printed", "as corrected"), theorems), *parts])


def printed_cell(result: Result) -> str:
    """The verdict as printed with its class: `fails: typo (0.57 > 1e-09)`."""
    return numbers(result.printed, f": {result.fault}" if result.fault else "")


def numbers(outcome: Outcome, fault: str = "") -> str:
    """A verdict beside its error and what is allowed; the verdict alone where nothing was measured."""
    if outcome.verdict == "not printed":
        return outcome.verdict
    relation = "≤" if outcome.error <= outcome.allowed else ">"
    error = f"{outcome.error:.2g}" if math.isfinite(outcome.error) else "not finite"
    return f"{outcome.verdict}{fault} ({error} {relation} {outcome.allowed:.2g})"


def key(results: Sequence[Result]) -> str:
    """What the numbers and the classes in this table mean."""
    lines = [NUMBERS]
    seen = {one.fault for one in results}
    lines += [f"{fault}: {meaning}." for fault, meaning in FAULTS.items() if fault in seen]
    if any(one.printed.verdict == "depends" for one in results):
        lines.append(
            "depends: the words can be read in several ways; some of them hold, some fail. The class is that of the "
            "reading that fails."
        )
    if any(one.printed.verdict == "not printed" for one in results):
        lines.append("not printed: an addition of this project, about which the paper says nothing.")
    return "\n".join(wrap(line) for line in lines)


def explanation(result: Result) -> str:
    """What one statement says, what was measured and found, and its counter-example."""
    lines = [f"{result.name}: {result.label}", f"As printed: {result.claim}."]
    for words, outcome in result.readings or ((None, result.printed),):
        lines.append((f"Read as “{words}”: " if words else "") + outcome_words(outcome))
    if result.counterexample is not None:
        one = result.counterexample
        lines.append(f"Counter-example: {one.given}. The paper: {one.printed}. Found: {one.found}.")
    if result.corrected is not result.printed:
        lines += [f"As corrected: {result.correction}.", outcome_words(result.corrected)]
    for search in result.searches:
        found = "counter-example" if search.found else "no counter-example"
        lines.append(f"Without “{search.dropped}”: {found}; {search.evidence}.")
    return "\n".join(wrap(line) for line in lines)


def outcome_words(outcome: Outcome) -> str:
    """An outcome as a sentence: verdict, what the error is, and the evidence."""
    if outcome.verdict == "not printed":
        return "The paper makes no such claim."
    return f"{numbers(outcome).capitalize()}; the error is: {outcome.quantity}. {sentence(outcome.evidence)}."


def sentence(words: str) -> str:
    """A text with a capital at its beginning, unless it begins with a symbol."""
    first = words.split(" ", 1)[0]
    return words[:1].upper() + words[1:] if len(first) > 1 and first.isalpha() else words
