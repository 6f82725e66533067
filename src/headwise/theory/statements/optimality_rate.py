"""Proof of Lemma optimality: d‖Δ‖²/dt = −2c₂‖Δ‖² + 2⟨ċ, Δ⟩ holds with c₂ = h−1, not (h−1)/2."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, inner
from headwise.theory.statement import Counterexample, Outcome, Statement, compare
from headwise.theory.statements.cooperative_ascent import velocities


def parts(i: Instance) -> tuple[Array, Array, Array]:
    """Δ, Δ̇ by the chain rule, and ċ."""
    n, first, V, free, s = i.heads - 1, i.patterns[0], i.V[0], i.V[-1], i.s[-1]
    shift, free_shift, step, _ = velocities(i)
    best = (i.strengths[0] * i.features[0] - (first @ s) * free) / n
    best_shift = -((first @ step) * free + (first @ s) * free_shift) / n
    return V - best, shift - best_shift, -best_shift


def truth(i: Instance) -> float:
    gap, rate, _ = parts(i)
    return float(2 * inner(gap, rate))


def _display(i: Instance, c2: float) -> float:
    gap, _, drift = parts(i)
    return float(-2 * c2 * inner(gap, gap) + 2 * inner(drift, gap))


def printed(i: Instance) -> float:
    return _display(i, (i.heads - 1) / 2)


def corrected(i: Instance) -> float:
    return _display(i, i.heads - 1)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=corrected)


def counterexample() -> Counterexample:
    """With V' = 0 and no attention on position 1 the ensemble is alone: V̇ = m_1V_1* − (h−1)V, and V* does not move."""
    h, m, v = 2, 2.0, 3.0
    gap, rate = v - m / (h - 1), m - (h - 1) * v
    printed, found = -(h - 1) * gap**2, 2 * gap * rate
    return Counterexample(
        f"h = T = {h}, m_1 = {m:g}, V = {v:g}·V_1*, V' = 0, s' = s_2*, so V* = {m / (h - 1):g}·V_1* and ċ = 0",
        f"d‖Δ‖²/dt = −2c₂‖Δ‖² = {printed:g} with c₂ = (h−1)/2",
        f"V̇ = {rate:g}·V_1*, so d‖Δ‖²/dt = {found:g}",
        found != printed,
    )


STATEMENT = Statement(
    "optimality-rate",
    "Lemma optimality, proof: c₂",
    "d‖Δ‖²/dt = −2c₂‖Δ‖² + 2⟨ċ, Δ⟩ with c₂ = (h−1)/2",
    "c₂ = h−1",
    as_printed,
    as_corrected,
    fault="wrong constant",
    counterexample=counterexample,
)
