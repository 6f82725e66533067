"""Lemma ordering: Π(s) keeps the largest entry largest only if it is largest over all positions, not over h of them.

With order asked over [h] alone, ⟨s, v⟩ may exceed v_i because of the other positions, and a larger s_i then loses more.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import draw_attention, pi
from headwise.theory.statement import Counterexample, Outcome, Statement, bound

HEADS, POSITIONS = 3, 8


def violation(rng: np.random.Generator, *, ordered: int, T: int) -> float:
    """How far (Π(s)v)_i falls below (Π(s)v)_j for an i that leads s and v among the first `ordered` positions."""
    s, v = draw_attention(rng, T), rng.standard_normal(T)
    i = int(rng.integers(ordered))
    for x in (s, v):
        lead = int(np.argmax(x[:ordered]))
        x[i], x[lead] = x[lead], x[i]
    moved = pi(s) @ v
    return float(max(0.0, (moved[:ordered] - moved[i]).max()))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = [violation(rng, ordered=HEADS, T=POSITIONS) for _ in range(20 * max(trials, 10))]
    share = np.mean(np.array(errors) > 1e-12)
    return bound(
        errors,
        within=1e-12,
        quantity="largest amount by which another entry exceeds the leading one",
        evidence=f"violated in {share:.0%} of draws with h = {HEADS}, T = {POSITIONS}, by up to {max(errors):.2g}",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    errors = [violation(rng, ordered=T, T=T) for T in rng.integers(2, 10, 20 * trials)]
    return bound(
        errors,
        within=1e-12,
        quantity="largest amount by which another entry exceeds the leading one",
        evidence=f"violated by at most {max(errors):.1g} in {len(errors)} draws",
    )


def counterexample() -> Counterexample:
    s, v = np.array([0.5, 0.1, 0.4]), np.array([0.0, 0.0, 1.0])
    moved = s * (v - s @ v)
    return Counterexample(
        f"h = 2, T = 3, s = ({s[0]:g}, {s[1]:g}, {s[2]:g}), v = ({v[0]:g}, {v[1]:g}, {v[2]:g}); i = 1 leads both among "
        "the first two",
        "(Π(s)v)_1 ≥ (Π(s)v)_2",
        f"Π(s)v = ({moved[0]:g}, {moved[1]:g}, {moved[2]:g})",
        bool(moved[0] < moved[1]),
    )


STATEMENT = Statement(
    "ordering",
    "Lemma ordering",
    "if s_i and v_i are largest among the first h entries, so is (Π(s)v)_i",
    "so it is when s_i and v_i are largest among all T entries",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
