"""App. C: the free head forgets the first feature, ⟨V_1*, V̇'⟩ = −‖s'_(1)‖²⟨V_1*, V'⟩; printed with V̇' on both sides."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, inner, times
from headwise.theory.statement import Outcome, Statement, compare


def shift(i: Instance) -> tuple[Array, float]:
    """V̇' of the two-scale system and ‖s'_(1)‖²."""
    free, s = i.V[-1], i.s[-1]
    tail = s - s[0] * i.patterns[0]
    return times(i.tail(1), tail) - (tail @ tail) * free, float(tail @ tail)


def truth(i: Instance) -> float:
    return float(inner(i.features[0], shift(i)[0]))


def printed(i: Instance) -> float:
    rate, weight = shift(i)
    return float(-weight * inner(i.features[0], rate))


def corrected(i: Instance) -> float:
    return float(-shift(i)[1] * inner(i.features[0], i.V[-1]))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=corrected)


STATEMENT = Statement(
    "first-feature-rate",
    "App. C: ⟨V_1*, V̇'⟩",
    "⟨V_1*, V̇'⟩ = −‖s'_(1)‖²⟨V_1*, V̇'⟩",
    "= −‖s'_(1)‖²⟨V_1*, V'⟩",
    as_printed,
    as_corrected,
    fault="typo",
)
