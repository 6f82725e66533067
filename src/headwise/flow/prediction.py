"""Stage times predicted before the flow is solved, with what is known of their accuracy.

t_1 in closed form. While all heads agree and V is small, the coupled system gives dq_1/dV_1 = V_1 for the logit of
position 1 against the others, so s_1 = 1/(1 + N exp(−V_1²/2)) with N = T−1, and t is the integral of dV_1/(m_1 s_1).
Adding the first effect of the self-interaction h‖s‖²V up to the midpoint of the loss gives

    t_1 ≈ (T/m_1) [√(π/2) erf(√(½ log N)) + (h/(2 m_1)) (1 − 1/N)].

It is rough (tens of percent); the coupled system itself gives t_1 to the accuracy of the solver.

t_2 by linear response. Deviations of the heads from the coupled state that sum to zero leave the residual R unchanged
to first order, so each head's deviation (dC, dq) obeys one and the same linear equation,

    dĊ = ds Rᵀ,   dq̇ = ds ⊙ (g − ⟨s, g⟩) − s ⟨ds, g⟩ + Π(s) dC K R,   ds = Π(s) dq,

driven by its own noise. The head whose ⟨W_k, V_2*⟩ first reaches `THRESHOLD` leaves, and that time is t_2. The common
part of the noise moves the coupled state itself, which therefore starts from the mean logits. t_3 is not predicted:
it is decided by how the remaining heads split at t_2, not by the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from headwise.flow.reduction import State
from headwise.flow.simplex import Array, project, softmax
from headwise.flow.solve import first_fall
from headwise.flow.stages import stage_levels
from headwise.flow.systems import coupled
from headwise.flow.target import Target

THRESHOLD = 0.7
"""The value of ⟨W_k, V_2*⟩ that marks t_2, for strengths with b0 = 1. An empirical number, and it matters: at m = 1.7,
h = 3, T = 40 (six flows) 0.5 gives −3 to −7 %, 0.7 gives +2 to +3 %, 1.0 gives +8 to +12 %."""


@dataclass(frozen=True)
class StageTimes:
    """Predictions; `head` counts from 1. None where the start breaks no symmetry or nothing happens before the end."""

    t1_closed: float | None
    t1: float | None
    t2: float | None
    t2_head: int | None


def closed_form_t1(target: Target, heads: int) -> float | None:
    """The closed form above; None unless feature 1 sits at a single position among at least two."""
    if np.count_nonzero(target.patterns[0]) != 1 or target.positions < 2:
        return None
    others, strength = target.positions - 1, float(target.strengths[0] * target.patterns[0].max())
    growth = math.sqrt(math.pi / 2) * float(erf(math.sqrt(0.5 * math.log(others))))
    return target.positions / strength * (growth + heads / (2 * strength) * (1 - 1 / others))


def coupled_t1(target: Target, heads: int, q: Array, *, t_end: float) -> float | None:
    """t_1 of the coupled system started from V = 0 and the mean of the heads' logits (heads, T)."""
    system = coupled(target, heads)
    start = system.pack(State(np.zeros((1, target.features)), q.mean(0, keepdims=True)))
    found = first_fall(
        system.field,
        start,
        value=lambda y: float(system.loss(system.unpack(y))),
        level=float(stage_levels(target)[0]),
        t_end=t_end,
        rtol=1e-10,
        atol=1e-13,
    )
    return None if found is None else found[0]


def linear_response(
    target: Target, q: Array, *, t_end: float, threshold: float = THRESHOLD
) -> tuple[float | None, int | None]:
    """t_2 and the head (counted from 1) that leaves, for logits q (heads, T) and V(0) = 0."""
    heads, n = len(q), target.features
    deviation = q - q.mean(0)
    scale = float(np.abs(deviation).max())
    if heads < 2 or n < 2 or scale == 0:
        return None, None
    signal, gram = target.signal, target.gram

    def unpack(y: Array) -> tuple[Array, Array, Array, Array]:
        rows = y.reshape(heads + 1, n + target.positions)
        return rows[0, :n], rows[0, n:], rows[1:, :n], rows[1:, n:]

    def field(t: float, y: Array) -> Array:
        c, logits, dc, dq = unpack(y)
        s = softmax(logits)
        rest = signal - heads * np.outer(c, s)
        g = (c @ gram) @ rest
        ds = project(s, dq)
        turn = ds * (g - s @ g) - np.outer(ds @ g, s) + project(s, (dc @ gram) @ rest)
        out = np.empty((heads + 1, n + target.positions))
        out[0, :n], out[0, n:] = rest @ s, project(s, g)
        out[1:, :n], out[1:, n:] = ds @ rest.T, turn
        return out.ravel()

    start = np.zeros((heads + 1, n + target.positions))
    start[0, n:], start[1:, n:] = q.mean(0), deviation / scale
    found = first_fall(
        field,
        start.ravel(),
        value=lambda y: -float((unpack(y)[2] @ gram)[:, 1].max()),
        level=-threshold / scale,
        t_end=t_end,
        rtol=1e-9,
        atol=1e-11,
    )
    if found is None:
        return None, None
    head = int(np.argmax((unpack(found[1])[2] @ gram)[:, 1]))
    return found[0], head + 1


def predict(target: Target, q: Array, *, t_end: float) -> StageTimes:
    """All predictions for a flow of all heads from V = 0 and logits q (heads, T), under Π²."""
    heads = len(q)
    t2, head = linear_response(target, q, t_end=t_end)
    return StageTimes(closed_form_t1(target, heads), coupled_t1(target, heads, q, t_end=t_end), t2, head)
