"""Thm higher: the same for the n-th head; printed besides with V_n(∞) = V_n*, the strength m_n missing."""

from __future__ import annotations

import numpy as np

from headwise.theory.late_limit import corrected_limit, printed_limit, resting_counterexample
from headwise.theory.statement import Counterexample, Outcome, Statement


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return printed_limit(rng, trials, 3)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return corrected_limit(rng, trials, 3)


def counterexample() -> Counterexample:
    return resting_counterexample(3)


STATEMENT = Statement(
    "higher",
    "Theorem higher",
    "the n-th head converges to V_n = V_n*, s_n = s_n*",
    "⟨V_n, V_n*⟩⟨s_n, s_n*⟩ → m_n and φ → m_n²/2; sparsity as for the second head",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
