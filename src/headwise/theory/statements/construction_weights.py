"""§2.2, construction: equal logits λ give equal weights; α_i needs λ + log α_i, and V_k = (Σα)A_k where Σα ≠ 1."""

from __future__ import annotations

import numpy as np

from headwise.theory.statement import Counterexample, Outcome, Statement, bound
from headwise.theory.statements.construction_offset import LARGE, attention, logit_error


def draw_weights(rng: np.random.Generator) -> list[list[float]]:
    """Three pairs of unequal positive weights, of any sum."""
    return [[float(a), float(a * r)] for a, r in zip(rng.uniform(0.3, 1.5, 3), rng.uniform(0.2, 0.6, 3), strict=True)]


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """With the offset already corrected, so that only the weights are at fault."""
    errors = []
    for _ in range(min(trials, 10)):
        alpha = [[a / sum(row) for a in row] for row in draw_weights(rng)]
        errors.append(logit_error(rng, offset=1, alpha=alpha, logits=[[LARGE] * 2] * 3, scale=[1.0] * 3))
    return bound(
        errors,
        within=1e-9,
        quantity="largest difference of a logit from Eq. 1",
        evidence=f"unequal α: logits differ from Eq. 1 by up to {max(errors):.2g}",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(min(trials, 10)):
        alpha = draw_weights(rng)
        logits = [[LARGE + float(np.log(a)) for a in row] for row in alpha]
        errors.append(logit_error(rng, offset=1, alpha=alpha, logits=logits, scale=[sum(row) for row in alpha]))
    return bound(
        errors,
        within=1e-9,
        quantity="largest difference of a logit from Eq. 1",
        evidence=f"any α of any sum: logits agree with Eq. 1 within {max(errors):.1g}",
    )


def counterexample() -> Counterexample:
    alpha = (0.7, 0.3)
    found = attention(5, [1, 2], [LARGE, LARGE], 1)[4]
    return Counterexample(
        f"one head with I(1) = {{1, 2}}, α = ({alpha[0]:g}, {alpha[1]:g}) and λ = {LARGE:g}, at the fifth token",
        f"attention tends to ({alpha[0]:g}, {alpha[1]:g}) on the lags 1 and 2",
        f"it is ({found[4]:.3g}, {found[3]:.3g})",
        abs(float(found[4]) - alpha[0]) > 0.1,
    )


STATEMENT = Statement(
    "construction-weights",
    "§2.2, construction: weights",
    "as λ → ∞ equal logits λ realise the pattern α",
    "logits λ + log α_i do, with V_k = (Σα)A_k where the weights do not sum to one",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
