"""App. initialization: s̈_k(0) = (1/T³)(I − 11ᵀ/T)Σ_j m_j² s_j*.

As printed, (1/T)Π(s_k)G1 is a d × d matrix where a vector is meant; it is read with (G1)ᵀG = Σ_j m_j² s_j*, the only
vector at hand. One factor Π(s_k) is then missing, hence a factor T.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, pi, times
from headwise.theory.statement import Counterexample, Outcome, Statement, compare
from headwise.theory.statements.initial_value_curvature import second_derivatives


def centred_squares(i: Instance) -> Array:
    """(I − 11ᵀ/T) Σ_j m_j² s_j*."""
    squares = against(times(i.goal, np.ones(i.positions)), i.goal)
    return np.asarray(squares - squares.mean())


def truth(i: Instance) -> Array:
    return np.asarray(second_derivatives(i)[1][0])


def printed(i: Instance) -> Array:
    return centred_squares(i) / i.positions**2


def corrected(i: Instance) -> Array:
    return centred_squares(i) / i.positions**3


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=corrected)


def counterexample() -> Counterexample:
    """One head, T = 2: s̈(0) = Π(s)²(m V̇(0), 0) because ṡ(0) = 0 and V(0) = 0."""
    m, T = 1.0, 2
    s = np.full(T, 1 / T)
    bend = pi(s) @ pi(s) @ np.array([m * m / T, 0.0])
    printed = (m * m / T**2) * np.array([0.5, -0.5])
    return Counterexample(
        f"h = 1, T = {T}, m_1 = {m:g}, V(0) = 0, s(0) = (1/2, 1/2)",
        f"s̈(0) = (1/T)Π(s)(G1)ᵀG = ({printed[0]:g}, {printed[1]:g})",
        f"V̇(0) = {m / T:g}·V_1*, so s̈(0) = Π(s)²({m * m / T:g}, 0) = ({bend[0]:g}, {bend[1]:g})",
        bool(np.abs(bend - printed).max() > 0),
    )


STATEMENT = Statement(
    "initial-attention-curvature",
    "App. initialization: s̈(0)",
    "s̈_k(0) = (1/T)Π(s_k)G1, read as (1/T²)(I − 11ᵀ/T)Σ_j m_j² s_j*",
    "s̈_k(0) = (1/T³)(I − 11ᵀ/T)Σ_j m_j² s_j*",
    as_printed,
    as_corrected,
    fault="wrong constant",
    counterexample=counterexample,
)
