"""From what each seed shows to one verdict: a value with its outcome, how many seeds passed, and its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from headwise.core.bootstrap import median_interval
from headwise.core.rounding import with_interval
from headwise.paper.limit import Limit

RESAMPLES = 2000
ENOUGH_FOR_BOOTSTRAP = 5
FEWEST_FOR_INTERVAL = 2

Outcome = Literal["reproduced", "partly reproduced", "not reproduced", "inconclusive"]


@dataclass(frozen=True)
class Judgement:
    """One seed: whether the claim held (`None`: it cannot be read), the measured quantity, and a line about it."""

    passed: bool | None
    measured: float | None
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim under one reading of the paper, over all seeds.

    `passed` of the seeds passed. `threshold` is all that the claim asks for, in words; `limit` is the part of it that
    the measured quantity itself has to keep, where there is one.
    """

    claim: str
    preset: str
    scale: str
    outcome: Outcome
    passed: int
    quantity: str
    measured: float | None
    interval: tuple[float, float] | None
    threshold: str
    limit: Limit | None
    published: float | None
    distance: float | None
    seeds: tuple[int, ...]
    notes: Mapping[str, str]
    by_seed: Mapping[str, float] = field(default_factory=dict)
    """The measured quantity of each seed that has one; empty in verdicts stored before it was kept."""
    unit: str = ""
    """Of the measured quantity."""
    test: Mapping[str, Any] = field(default_factory=dict)
    """`digest`, `commit` and `date` of the test as it judged; empty in verdicts of earlier tests."""
    runs: Mapping[str, Any] = field(default_factory=dict)
    """`count`, `commits`, `first_ended` and `last_ended` of the runs judged; empty where nothing was trained."""

    @property
    def of(self) -> int:
        """How many seeds were asked."""
        return len(self.seeds)

    @property
    def draws(self) -> int:
        """How many tasks were asked: the figures show one, the other readings have one for each seed."""
        return 1 if self.preset == "published" else self.of

    @property
    def text(self) -> str:
        """The outcome as a person reads it."""
        if self.outcome == "partly reproduced":
            return f"reproduced in {self.passed} of {self.of} {'draws' if self.preset == 'redrawn' else 'seeds'}"
        return self.outcome

    @property
    def numbers(self) -> str:
        """The measured quantity, with its interval where there are several seeds; empty where nothing was measured.

        It has as many digits as the interval allows.
        """
        return "" if self.measured is None else with_interval(self.measured, self.interval)


def decide(
    judgements: Mapping[int, Judgement],
    *,
    claim: str,
    preset: str,
    scale: str,
    quantity: str,
    threshold: str,
    limit: Limit | None = None,
    published: float | None,
    unit: str = "",
    test: Mapping[str, Any] | None = None,
    runs: Mapping[str, Any] | None = None,
) -> Verdict:
    """The verdict over all seeds; what was published is compared with the published reading alone."""
    readable = [judgement for judgement in judgements.values() if judgement.passed is not None]
    by_seed = {
        str(seed): float(j.measured)
        for seed, j in judgements.items()
        if j.passed is not None and j.measured is not None and np.isfinite(j.measured)
    }
    values = list(by_seed.values())
    measured = float(np.median(values)) if values else None
    compared = published if preset == "published" else None
    passed = sum(bool(judgement.passed) for judgement in readable)
    return Verdict(
        claim=claim,
        preset=preset,
        scale=scale,
        outcome=outcome_of(passed, readable=len(readable), of=len(judgements)),
        passed=passed,
        quantity=quantity,
        measured=measured,
        interval=interval(values),
        threshold=threshold,
        limit=limit,
        published=compared,
        distance=None if measured is None or compared is None else measured - compared,
        seeds=tuple(judgements),
        notes={str(seed): j.note for seed, j in judgements.items() if j.note},
        by_seed=by_seed,
        unit=unit,
        test=test or {},
        runs=runs or {},
    )


def outcome_of(passed: int, *, readable: int, of: int) -> Outcome:
    """`reproduced` when every seed passes, `not reproduced` when every seed can be read and none passes.

    A seed that cannot be read (its run is missing, diverged or lacks a stage to measure) counts against both: with one
    that passes the claim is partly reproduced, with none the runs are `inconclusive`.
    """
    if readable and passed == of:
        return "reproduced"
    if passed:
        return "partly reproduced"
    return "not reproduced" if readable and readable == of else "inconclusive"


def interval(values: list[float]) -> tuple[float, float] | None:
    """A 95 % bootstrap interval of the median, or the range of the values where they are few; none of one value."""
    if len(values) < FEWEST_FOR_INTERVAL:
        return None
    if len(values) < ENOUGH_FOR_BOOTSTRAP:
        return min(values), max(values)
    return median_interval(values, resamples=RESAMPLES)
