"""From what each seed shows to one verdict with its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwise.core.bootstrap import median_interval

RESAMPLES = 2000
ENOUGH_FOR_BOOTSTRAP = 5


@dataclass(frozen=True)
class Judgement:
    """One seed: whether the claim held (`None`: it cannot be read), the measured quantity, and a line about it."""

    passed: bool | None
    measured: float | None
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """A claim under one reading of the paper, over all seeds."""

    claim: str
    preset: str
    scale: str
    verdict: str
    quantity: str
    measured: float | None
    interval: tuple[float, float] | None
    threshold: str
    published: float | None
    distance: float | None
    seeds: tuple[int, ...]
    notes: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """Plain values in the order a person reads them."""
        return {
            "claim": self.claim,
            "preset": self.preset,
            "verdict": self.verdict,
            "quantity": self.quantity,
            "measured": self.measured,
            "interval": list(self.interval) if self.interval else None,
            "threshold": self.threshold,
            "published": self.published,
            "distance": self.distance,
            "seeds": list(self.seeds),
            "scale": self.scale,
            "notes": dict(self.notes),
        }


def decide(
    judgements: Mapping[int, Judgement],
    *,
    claim: str,
    preset: str,
    scale: str,
    quantity: str,
    threshold: str,
    published: float | None,
) -> Verdict:
    """`reproduced` when every seed that can be read passes, `inconclusive` when none can or some are missing.

    A seed that cannot be read (its run is missing, diverged or lacks a stage to measure) counts against `reproduced`:
    the verdict is then about the others, and says out of how many.
    """
    readable = {seed: j for seed, j in judgements.items() if j.passed is not None}
    passed = sum(bool(j.passed) for j in readable.values())
    if not readable:
        word = "inconclusive"
    elif passed == len(judgements):
        word = "reproduced"
    elif passed == 0 and len(readable) == len(judgements):
        word = "not reproduced"
    elif passed == 0:
        word = "inconclusive"
    else:
        word = f"reproduced in {passed} of {len(judgements)} seeds"
    values = [j.measured for j in readable.values() if j.measured is not None and np.isfinite(j.measured)]
    measured = float(np.median(values)) if values else None
    return Verdict(
        claim=claim,
        preset=preset,
        scale=scale,
        verdict=word,
        quantity=quantity,
        measured=measured,
        interval=interval(values),
        threshold=threshold,
        published=published if preset == "published" else None,
        distance=_distance(measured, published if preset == "published" else None),
        seeds=tuple(judgements),
        notes={str(seed): j.note for seed, j in judgements.items() if j.note},
    )


def interval(values: list[float]) -> tuple[float, float] | None:
    """A 95 % bootstrap interval of the median, or the range of the values where they are few."""
    if not values:
        return None
    if len(values) < ENOUGH_FOR_BOOTSTRAP:
        return min(values), max(values)
    return median_interval(values, resamples=RESAMPLES)


def _distance(measured: float | None, published: float | None) -> float | None:
    return None if measured is None or published is None else measured - published
