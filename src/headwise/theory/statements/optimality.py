"""Lemma optimality: ‖V − V*‖ ≤ e^{−c₂t}‖Δ(0)‖ + c₁/c₂ along the cooperative flow, for h ≥ 2; c₂ = h−1 will do.

c₁ is the largest speed of c(t) = ⟨s_1*, s'⟩V'/(h−1) on the solution itself.
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import best_values, cooperative
from headwise.theory.instance import draw_attention, draw_instance
from headwise.theory.statement import Outcome, Statement, bound


def excess(rng: np.random.Generator, rate: float) -> float:
    """The largest of ‖Δ‖ over its bound, with c₂ = rate·(h−1)."""
    i = draw_instance(rng)
    target, heads = i.target(), i.heads
    system = cooperative(target, heads)
    c = rng.standard_normal((2, target.features))
    y = system.pack(State(c, draw_attention(rng, i.positions)[None]))
    times = np.linspace(0, 8, 161)
    states = integrate(system.field, y, t_end=8.0, rtol=1e-10, atol=1e-12).at(times)
    state = system.unpack(states)
    moving = system.velocity(state)
    s, free = state.moving[:, 0], state.coefficients[:, 1]
    speed = (moving.moving[:, :1, 0] * free + s[:, :1] * moving.coefficients[:, 1]) / (heads - 1)
    fitted = [
        best_values(target, target.ideal_attention[:1], multiplicity=np.array([heads - 1.0]), head=f, s=a)[0]
        for f, a in zip(free, s, strict=True)
    ]
    gap = np.linalg.norm(state.coefficients[:, 0] - np.array(fitted), axis=-1)
    c1, c2 = float(np.linalg.norm(speed, axis=-1).max()), rate * (heads - 1)
    return float((gap / (np.exp(-c2 * times) * gap[0] + c1 / c2)).max())


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    ratios = [excess(rng, 0.5) for _ in range(min(trials, 10))]
    return bound(ratios, within=1 + 1e-6, evidence=f"‖Δ‖ at most {max(ratios):.3f} of its bound with c₂ = (h−1)/2")


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    ratios = [excess(rng, 1.0) for _ in range(min(trials, 10))]
    return bound(ratios, within=1 + 1e-6, evidence=f"‖Δ‖ at most {max(ratios):.3f} of its bound with c₂ = h−1")


STATEMENT = Statement(
    "optimality",
    "Lemma optimality",
    "‖V − V*‖ ≤ e^{−c₂t}‖Δ(0)‖ + c₁/c₂ for constants c₁, c₂",
    "the same, for h ≥ 2, and already with c₂ = h−1",
    as_printed,
    as_corrected,
)
