"""App. initialization: for small t attention is 1/T + ½t²s̈(0); the order of the remainder is measured."""

from __future__ import annotations

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.solve import integrate
from headwise.flow.systems import all_heads
from headwise.theory.instance import Array, Instance, draw_instance
from headwise.theory.statement import Counterexample, Outcome, Reading, Statement, bound
from headwise.theory.statements.initial_attention_curvature import centred_squares

TIMES = np.array([0.05, 0.1, 0.2])
LEAST_RATE, LARGEST_REST, LARGEST_SINE = 2.5, 0.5, 0.05
"""The power of t that the remainder must fall with at least, and its largest share of the growth at the last time; the
largest sine of an angle that counts as one direction (three degrees)."""


def attention(i: Instance) -> Array:
    """s_1(t) at small times, from V = 0 and uniform attention."""
    system = all_heads(i.target(), i.heads, chart="s")
    y = system.pack(State(np.zeros((i.heads, i.heads)), np.full((i.heads, i.positions), 1 / i.positions)))
    return system.unpack(integrate(system.field, y, t_end=TIMES[-1], rtol=1e-13, atol=1e-16).at(TIMES)).moving[:, 0]


def printed(i: Instance) -> Array:
    """(1/T²)(I − 11ᵀ/T)G1, with G1 read as for s̈(0)."""
    return np.repeat(centred_squares(i)[None] / i.positions**2, len(TIMES), 0)


def corrected(i: Instance) -> Array:
    return 1 / i.positions + 0.5 * TIMES[:, None] ** 2 * centred_squares(i) / i.positions**3


def literal(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(min(trials, 8)):
        i = draw_instance(rng)
        errors.append(float(np.abs(attention(i) - printed(i))[0].max()))
    return bound(
        errors,
        within=1e-3,
        quantity="largest difference of an attention weight",
        evidence=f"off by up to {max(errors):.2g} at t = {TIMES[0]:g}; no time in it, no 1/T",
    )


def direction(rng: np.random.Generator, trials: int) -> Outcome:
    """The change of s_k has the direction of the display: the sine of the angle between them falls with t."""
    sines = []
    for _ in range(min(trials, 8)):
        i = draw_instance(rng)
        moved, claimed = (attention(i) - 1 / i.positions)[0], centred_squares(i)
        cosine = moved @ claimed / (np.linalg.norm(moved) * np.linalg.norm(claimed))
        sines.append(float(np.sqrt(max(0.0, 1 - cosine**2))))
    return bound(
        sines,
        within=LARGEST_SINE,
        quantity="largest sine of the angle between the change of attention and the display",
        evidence=f"at t = {TIMES[0]:g} the sine is at most {max(sines):.2g}",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """The remainder falls fast enough as t halves, and is small against the growth itself."""
    rates, sizes = [], []
    for _ in range(min(trials, 8)):
        i = draw_instance(rng)
        rest = np.abs(attention(i) - corrected(i)).max(-1)
        growth = 0.5 * TIMES[-1] ** 2 * np.abs(centred_squares(i)).max() / i.positions**3
        rates.append(float(np.log2(rest[2] / rest[1])))
        sizes.append(float(rest[2] / growth))
    return bound(
        [LEAST_RATE / min(rates), max(sizes) / LARGEST_REST],
        within=1.0,
        quantity="asked power over the power found, and size of the remainder over the size asked for",
        evidence=f"the remainder falls like t^{min(rates):.2f} or faster (asked for: t^{LEAST_RATE:g}); it is up to "
        f"{max(sizes):.0%} of the growth at t = {TIMES[-1]:g} (asked for: {LARGEST_REST:.0%})",
    )


def counterexample() -> Counterexample:
    m, T = 1.0, 2
    claimed = m * m / T**2 * np.array([0.5, -0.5])
    return Counterexample(
        f"h = 1, T = {T}, m_1 = {m:g}, t = 0",
        f"s(0) = ({claimed[0]:g}, {claimed[1]:g}), which sums to {claimed.sum():g}",
        f"s(0) = ({1 / T:g}, {1 / T:g}), which sums to one",
        bool(claimed.sum() != 1),
    )


STATEMENT = Statement(
    "initial-attention-growth",
    "App. initialization: s_k(t)",
    "s_k(t) ≈ (1/T²)(I − 11ᵀ/T)G1",
    "s_k(t) = 1/T + ½t²s̈(0) + O(t³)",
    None,
    as_corrected,
    fault="wrong constant",
    readings=(Reading("these are the weights", literal), Reading("they change in this direction", direction)),
    counterexample=counterexample,
)
