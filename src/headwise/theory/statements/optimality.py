"""Lemma optimality: ‖V − V*‖ ≤ e^{−c₂t}‖Δ(0)‖ + c₁/c₂ along the cooperative flow, for h ≥ 2.

With constants that are only said to exist, this holds of any bounded flow: a large c₁ will do. With the constants of
the proof, c₂ = (h−1)/2 and c₁ the largest speed of c(t) = ⟨s_1*, s'⟩V'/(h−1), it is an inequality that can fail, and
that is what is tested as printed. The correction is the equation behind it, Δ̇ = −(h−1)Δ + ċ, in its integrated form.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import cumulative_simpson

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import best_values, cooperative
from headwise.theory.instance import Array, draw_attention, draw_instance
from headwise.theory.statement import Outcome, Statement, bound

SPAN, POINTS = 8.0, 801
PROOF, RIGHT = 0.5, 1.0
"""c₂ over h−1: as the proof has it, and as it is."""


def gap_and_drift(rng: np.random.Generator) -> tuple[Array, Array, Array, int]:
    """Times, Δ(t) and ċ(t) as coefficients (t, n) of a random cooperative flow, and h."""
    i = draw_instance(rng)
    target, heads = i.target(), i.heads
    system = cooperative(target, heads)
    c = rng.standard_normal((2, target.features))
    y = system.pack(State(c, draw_attention(rng, i.positions)[None]))
    times = np.linspace(0, SPAN, POINTS)
    state = system.unpack(integrate(system.field, y, t_end=SPAN, rtol=1e-11, atol=1e-13).at(times))
    moving = system.velocity(state)
    s, free = state.moving[:, 0], state.coefficients[:, 1]
    drift = (moving.moving[:, :1, 0] * free + s[:, :1] * moving.coefficients[:, 1]) / (heads - 1)
    fitted = [
        best_values(target, target.ideal_attention[:1], multiplicity=np.array([heads - 1.0]), head=f, s=a)[0]
        for f, a in zip(free, s, strict=True)
    ]
    return times, state.coefficients[:, 0] - np.array(fitted), drift, heads


def excess(rng: np.random.Generator, rate: float) -> float:
    """The largest of ‖Δ‖ over its bound, with c₂ = rate·(h−1)."""
    times, gap, drift, heads = gap_and_drift(rng)
    size = np.linalg.norm(gap, axis=-1)
    c1, c2 = float(np.linalg.norm(drift, axis=-1).max()), rate * (heads - 1)
    return float((size / (np.exp(-c2 * times) * size[0] + c1 / c2)).max())


def missed(rng: np.random.Generator, rate: float) -> float:
    """Largest difference of Δ(t) from e^{−c₂t}Δ(0) + ∫e^{−c₂(t−u)}ċ(u)du, over ‖Δ(0)‖."""
    times, gap, drift, heads = gap_and_drift(rng)
    grown = np.exp(rate * (heads - 1) * times)[:, None]
    driven = cumulative_simpson(grown * drift, x=times, axis=0, initial=0.0)
    return float(np.abs(gap - (gap[0] + driven) / grown).max() / np.linalg.norm(gap[0]))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    ratios = [excess(rng, PROOF) for _ in range(min(trials, 8))]
    return bound(
        ratios,
        within=1 + 1e-6,
        quantity="largest ‖Δ‖ over its bound, with the constants of the proof",
        evidence=f"‖Δ‖ at most {max(ratios):.3f} of its bound with c₂ = {PROOF:g}(h−1) and c₁ = max ‖ċ‖",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    errors = [missed(rng, RIGHT) for _ in range(min(trials, 8))]
    return bound(
        errors,
        within=1e-5,
        quantity="largest difference of Δ(t) from the formula, over ‖Δ(0)‖",
        evidence=f"Δ(t) follows within {max(errors):.1g} of ‖Δ(0)‖ up to t = {SPAN:g}",
    )


STATEMENT = Statement(
    "optimality",
    "Lemma optimality",
    "‖V − V*‖ ≤ e^{−c₂t}‖Δ(0)‖ + c₁/c₂ for some constants c₁(δ) and c₂",
    "Δ(t) = e^{−(h−1)t}Δ(0) + ∫e^{−(h−1)(t−u)}ċ(u)du, so the bound holds with c₂ = h−1 and c₁ = max ‖ċ‖, for h ≥ 2",
    as_printed,
    as_corrected,
    fault="vacuous",
)
