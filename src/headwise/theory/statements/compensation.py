"""§3.3 and App. D: heads that stay compensate, their alignment with the newly learned feature turning negative."""

from __future__ import annotations

import numpy as np

from headwise.theory.statement import Outcome, Statement, bound
from headwise.theory.statements.stage_boundaries import flows

DIP = -0.05
"""An alignment this low or lower is a dip; one nearer to zero may be noise."""


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """The dip on feature 2 of the deepest-dipping head that did not learn it, for every seed; negative is a dip."""
    dips = []
    for flow in flows(rng, trials, "logit"):
        learner = flow.stage_heads[1]
        others = [row[1] for head, row in enumerate(flow.lowest_alignment, start=1) if head != learner]
        dips.append(min(others))
    return bound(
        [DIP / dip if dip < 0 else np.inf for dip in dips],
        within=1.0,
        quantity="depth asked for over the shallowest depth found",
        evidence=f"lowest ⟨V_k, V_2*⟩ of staying heads from {min(dips):.2f} to {max(dips):.2f} over {len(dips)} seeds; "
        f"asked for: {DIP:g} or below",
    )


STATEMENT = Statement(
    "compensation",
    "App. D, compensation",
    "heads that stay dip below zero on the feature that another head takes up",
    "the same",
    as_printed,
)
