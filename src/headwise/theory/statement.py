"""What a statement, a verdict and a counter-example are, and how errors become a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Verdict = Literal["holds", "approximate", "fails", "depends", "not printed"]
"""`depends`: the words can be read in several ways, of which some hold and some fail. `not printed`: the statement is
an addition of this project, the paper makes no such claim."""

Fault = Literal["typo", "weak", "vacuous", "wrong constant", "false"]
FAULTS: dict[Fault, str] = {
    "typo": "a symbol or an index is misprinted; what is meant is clear from the lines around it and holds",
    "wrong constant": "a factor, a sign or a power is wrong; the form of the statement is right",
    "false": "what is claimed is not true; a counter-example is given",
    "weak": "it holds, but says much less than it seems to; the correction says more",
    "vacuous": "its words hold of anything at all; it is tested with the constants of its proof, so that it can fail",
}
"""The classes of what is wrong with a statement as printed. The first three fail; the last two hold."""

FAILING: tuple[Fault, ...] = ("typo", "wrong constant", "false")
ROUNDING = 1e-9
"""Relative error up to which an identity counts as exact."""

DIFFERENCE = "largest relative difference of the two sides"


@dataclass(frozen=True)
class Outcome:
    """A verdict with the worst error over all instances, the largest error that does not fail, and a line about both.

    `quantity` says what the error is. The evidence is written before anybody knows the verdict: it says what was found,
    never what ought to be. Where nothing was measured, both numbers are NaN.
    """

    verdict: Verdict
    error: float
    allowed: float
    evidence: str
    quantity: str = DIFFERENCE


NOT_PRINTED = Outcome("not printed", float("nan"), float("nan"), "an addition of this project", "nothing was tested")


@dataclass(frozen=True)
class Search:
    """A hypothesis that was dropped, whether a counter-example was found, and its numbers."""

    dropped: str
    found: bool
    evidence: str


@dataclass(frozen=True)
class Counterexample:
    """One instance in numbers that anybody can recompute: what is given, what the paper says of it, what is found."""

    given: str
    printed: str
    found: str
    refutes: bool


Check = Callable[[np.random.Generator, int], Outcome]
"""Called with random numbers and a number of instances."""


@dataclass(frozen=True)
class Reading:
    """One way to read the printed words, with its own check."""

    words: str
    check: Check


@dataclass(frozen=True)
class Statement:
    """A statement of the paper under its label, in our words as printed and as corrected, with a check of each.

    `as_printed` is None where the words have several `readings`, and where the paper makes no such claim.
    `as_corrected` is None where there is nothing to correct. `fault` is what is wrong with it as printed.
    """

    name: str
    label: str
    claim: str
    correction: str
    as_printed: Check | None
    as_corrected: Check | None = None
    searches: Callable[[np.random.Generator, int], list[Search]] | None = None
    fault: Fault | None = None
    readings: tuple[Reading, ...] = ()
    counterexample: Callable[[], Counterexample] | None = None

    @property
    def ours(self) -> bool:
        """Whether the paper makes no such claim."""
        return self.as_printed is None and not self.readings


def identity(
    errors: Iterable[float], *, tolerance: float = ROUNDING, evidence: str = "", quantity: str = DIFFERENCE
) -> Outcome:
    """Exact up to `tolerance`, or not at all."""
    worst, count = _worst(errors)
    verdict: Verdict = "holds" if worst <= tolerance else "fails"
    return Outcome(verdict, worst, tolerance, evidence or f"{count} comparisons", quantity)


def bound(errors: Iterable[float], *, within: float, evidence: str, quantity: str) -> Outcome:
    """A statement of size or limit: holds when the worst error stays within what was announced."""
    worst, _ = _worst(errors)
    return Outcome("holds" if worst <= within else "fails", worst, within, evidence, quantity)


def approximation(errors: Iterable[float], *, within: float, evidence: str, quantity: str) -> Outcome:
    """A statement that is meant approximately, and is not exact: how far is the result."""
    worst, _ = _worst(errors)
    return Outcome("approximate" if worst <= within else "fails", worst, within, evidence, quantity)


def _worst(errors: Iterable[float]) -> tuple[float, int]:
    """The largest error, NaN (which fails every comparison) where there is one, and how many there are."""
    found = list(errors)
    return float(np.max(found)), len(found)


def over_readings(outcomes: list[tuple[str, Outcome]]) -> Outcome:
    """One outcome from those of several readings: `depends` unless all of them hold or all of them fail.

    The numbers are those of the reading that is furthest off, a failing one where there is one.
    """
    held = [outcome.verdict in ("holds", "approximate") for _, outcome in outcomes]
    verdict: Verdict = "holds" if all(held) else "depends" if any(held) else "fails"
    furthest = max(
        (outcome for _, outcome in outcomes),
        key=lambda outcome: (outcome.verdict == "fails", np.nan_to_num(outcome.error, nan=np.inf)),
    )
    evidence = "; ".join(f"read as “{words}” it {_word(outcome)}" for words, outcome in outcomes)
    return Outcome(verdict, furthest.error, furthest.allowed, evidence, f"of the worse reading: {furthest.quantity}")


def _word(outcome: Outcome) -> str:
    return "holds approximately" if outcome.verdict == "approximate" else outcome.verdict


def effective_fault(statement: Statement, printed: Outcome) -> Fault | Literal["unclassified"] | None:
    """The class that goes with a verdict: what fails has one, what holds can be weak or vacuous at most."""
    if printed.verdict in ("fails", "depends"):
        return statement.fault if statement.fault in FAILING else "unclassified"
    if printed.verdict in ("holds", "approximate") and statement.fault not in FAILING:
        return statement.fault
    return None


def relative_error(truth: Any, claim: Any) -> float:
    """Largest difference, against the largest entry of either."""
    truth, claim = np.asarray(truth), np.asarray(claim)
    scale = max(float(np.abs(truth).max()), float(np.abs(claim).max()), 1e-300)
    return float(np.abs(truth - claim).max()) / scale


def compare(
    rng: np.random.Generator,
    trials: int,
    *,
    draw: Callable[[np.random.Generator], Any],
    truth: Callable[[Any], Any],
    claim: Callable[[Any], Any],
    tolerance: float = ROUNDING,
) -> Outcome:
    """A formula against the thing itself, on random instances."""
    instances = [draw(rng) for _ in range(trials)]
    return identity((relative_error(truth(i), claim(i)) for i in instances), tolerance=tolerance)
