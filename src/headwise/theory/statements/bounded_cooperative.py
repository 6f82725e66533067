"""Thm boundedcoop: the window as in Thm bounded, and a constant that is not universal.

The constant is measured before any perturbed flow is solved (see `headwise.theory.growth`). It grows with the strengths
and, because the free head may settle at V' = (m_2/b)V_2* with b as small as the assumed δ, with 1/δ.
"""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import all_heads, best_values, cooperative
from headwise.flow.target import Target, singleton_target
from headwise.theory.growth import constant, deviation
from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, bound

HEADS, T, SPAN, DELTA, SLACK = 3, 5, 6.0, 0.02, 1.1
STRONGER, LARGE_SHARE, SMALL_SHARE = 4.0, 0.5, 0.05
"""The factor on the strengths, and the two attentions on feature 2, for which constants are compared."""


def start(target: Target, b: float) -> tuple[Array, Array]:
    """V' on its way to feature 2 with attention b there, the ensemble at its best."""
    s = np.zeros(T)
    s[0], s[1], s[2:] = 0.9 - b, b, 0.1 / (T - 2)
    free = np.array([0.3, 0.5 * target.strengths[1], 0.0])
    best = best_values(target, target.ideal_attention[:1], multiplicity=np.array([HEADS - 1.0]), head=free, s=s)
    return np.stack([best[0], free]), s[None]


def path(target: Target, b: float, times: Array) -> tuple[Array, Array]:
    """Coefficients (t, h, n) and attention (t, h, T) of all heads on the cooperative solution."""
    system = cooperative(target, HEADS)
    y = system.pack(State(*start(target, b)))
    state = system.unpack(integrate(system.field, y, t_end=SPAN, rtol=1e-12, atol=1e-14).at(times))
    s = system.attention(state)
    rows = [0] * (HEADS - 1) + [1]
    return state.coefficients[:, rows], s[:, rows]


def growth_constant(target: Target, b: float) -> float:
    c, s = path(target, b, np.linspace(0, SPAN, 30))
    return SLACK * max(constant(target, HEADS, x, y) for x, y in zip(c, s, strict=True))


def edge_constant(target: Target, b: float) -> float:
    """The constant at rest on the edge, V' = (m_2/b)V_2*, s' = (1−b)s_1* + b s_2*."""
    s = np.zeros(T)
    s[0], s[1] = 1 - b, b
    free = np.array([0.0, target.strengths[1] / b, 0.0])
    best = best_values(target, target.ideal_attention[:1], multiplicity=np.array([HEADS - 1.0]), head=free, s=s)
    frozen = np.repeat(target.ideal_attention[:1], HEADS - 1, 0)
    return constant(target, HEADS, np.stack([*([best[0]] * (HEADS - 1)), free]), np.concatenate([frozen, s[None]]))


def base_target(scale: float) -> Target:
    return singleton_target(scale * np.array([1.7, 1.3, 1.0]), T)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    """One constant for all problems: those of larger strengths and of a smaller δ, compared with the plain one."""
    plain = growth_constant(base_target(1.0), 0.3)
    stronger = growth_constant(base_target(STRONGER), 0.3) / plain
    smaller = edge_constant(base_target(1.0), SMALL_SHARE) / edge_constant(base_target(1.0), LARGE_SHARE)
    return bound(
        [stronger - 1, smaller - 1],
        within=0.1,
        evidence=f"c grows {stronger:.1f}-fold with strengths times {STRONGER:g}, "
        f"{smaller:.1f}-fold with δ smaller by {LARGE_SHARE / SMALL_SHARE:g}",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """Δ(t)/(ε e^{ct}) ≤ 1 up to (1/c) log(δ/ε) with the problem's own constant."""
    ratios = []
    for _ in range(min(trials, 3)):
        target, b = base_target(float(rng.uniform(0.7, 1.5))), float(rng.uniform(0.2, 0.5))
        c, system = growth_constant(target, b), all_heads(target, HEADS, chart="s")
        first_c, first_s = (x[0] for x in path(target, b, np.array([0.0])))
        for eps in (1e-4, 1e-6):
            window = min(float(np.log(DELTA / eps)) / c, SPAN)
            values, tilt = rng.standard_normal(first_c.shape), rng.uniform(0.1, 1, first_s.shape)
            # Heads on a vertex can only move inwards: the tilt takes from the largest entry.
            tilt[range(HEADS), first_s.argmax(-1)] = 0
            tilt[range(HEADS), first_s.argmax(-1)] = -tilt.sum(-1)
            values *= eps / np.linalg.norm(values, axis=-1, keepdims=True)
            tilt *= eps / np.linalg.norm(tilt, axis=-1, keepdims=True)
            y = system.pack(State(first_c + values, first_s + tilt))
            times = np.linspace(0, window, 15)
            there = system.unpack(integrate(system.field, y, t_end=window, rtol=1e-12, atol=1e-13).at(times))
            c_ref, s_ref = path(target, b, times)
            ratios += [
                deviation((there.coefficients[k], there.moving[k]), (c_ref[k], s_ref[k])) / (eps * np.exp(c * t))
                for k, t in enumerate(times)
                if t > 0
            ]
    return bound(ratios, within=1 + 1e-6, evidence=f"deviation at most {max(ratios):.2g} of ε e^(ct) within the window")


STATEMENT = Statement(
    "bounded-cooperative",
    "Theorem boundedcoop",
    "deviations stay below ε e^{ct} with a universal constant, for t up to 1/(−c log ε)",
    "for t up to (1/c) log(δ'/ε), with c growing with the strengths and with 1/δ",
    as_printed,
    as_corrected,
)
