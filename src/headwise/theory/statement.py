"""What a statement, a verdict and a search for counter-examples are, and how errors become a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Verdict = Literal["holds", "fails", "approximate"]
ROUNDING = 1e-9
"""Relative error up to which an identity counts as exact."""


@dataclass(frozen=True)
class Outcome:
    """A verdict with the worst error over all instances, the largest error that does not fail, and a line about both.

    The evidence is written before anybody knows the verdict: it says what was found, never what ought to be.
    """

    verdict: Verdict
    error: float
    allowed: float
    evidence: str


@dataclass(frozen=True)
class Search:
    """A hypothesis that was dropped, whether a counter-example was found, and its numbers."""

    dropped: str
    found: bool
    evidence: str


Check = Callable[[np.random.Generator, int], Outcome]
"""Called with random numbers and a number of instances."""


@dataclass(frozen=True)
class Statement:
    """A statement of the paper under its label, in our words as printed and as corrected, with a check of each."""

    name: str
    label: str
    claim: str
    correction: str
    as_printed: Check
    as_corrected: Check
    searches: Callable[[np.random.Generator, int], list[Search]] | None = None


def identity(errors: Iterable[float], *, tolerance: float = ROUNDING, evidence: str = "") -> Outcome:
    """Exact up to `tolerance`, or not at all."""
    worst = _worst(errors)
    verdict: Verdict = "holds" if worst <= tolerance else "fails"
    return Outcome(verdict, worst, tolerance, evidence or "largest relative difference over all instances")


def bound(errors: Iterable[float], *, within: float, evidence: str) -> Outcome:
    """A statement of size or limit: holds when the worst error stays within what was announced."""
    worst = _worst(errors)
    return Outcome("holds" if worst <= within else "fails", worst, within, evidence)


def approximation(errors: Iterable[float], *, within: float, evidence: str) -> Outcome:
    """A statement that is meant approximately, and is not exact: how far is the result."""
    worst = _worst(errors)
    return Outcome("approximate" if worst <= within else "fails", worst, within, evidence)


def _worst(errors: Iterable[float]) -> float:
    """The largest error; NaN, which fails every comparison, where there is one."""
    return float(np.max(list(errors)))


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
