"""App. initialization: V̈_k(0) = −(h/T²)G1; printed without the sign and the number of heads."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, derivative, draw_instance, flow, times
from headwise.theory.statement import Counterexample, Outcome, Statement, compare
from headwise.theory.statements.initial_velocity import uniform


def second_derivatives(i: Instance) -> tuple[Array, Array]:
    """V̈ and s̈ at the uniform start: the derivative of the velocity along itself."""
    V, s = uniform(i)
    shift, step = flow(i.goal, V, s)
    split = V.size

    def velocity(y: Array) -> Array:
        a, b = flow(i.goal, y[:split].reshape(V.shape), y[split:].reshape(s.shape))
        return np.concatenate([a.ravel(), b.ravel()])

    rate = derivative(velocity, np.concatenate([V.ravel(), s.ravel()]), np.concatenate([shift.ravel(), step.ravel()]))
    return rate[:split].reshape(V.shape), rate[split:].reshape(s.shape)


def truth(i: Instance) -> Array:
    return np.asarray(second_derivatives(i)[0][0])


def printed(i: Instance) -> Array:
    return times(i.goal, np.ones(i.positions)) / i.positions**2


def corrected(i: Instance) -> Array:
    return -i.heads * times(i.goal, np.ones(i.positions)) / i.positions**2


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=printed)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw_instance, truth=truth, claim=corrected)


def counterexample() -> Counterexample:
    """One head, T = 2: V̇ = m s_1 − ‖s‖²V with ṡ(0) = 0, so V̈(0) = −‖s‖²V̇(0)."""
    m, T = 1.0, 2
    speed = m / T
    return Counterexample(
        f"h = 1, T = {T}, m_1 = {m:g}, V(0) = 0, s(0) = (1/2, 1/2)",
        f"V̈(0) = G1/T² = {m / T**2:g}·V_1*",
        f"V̇(0) = {speed:g}·V_1* and V̈(0) = −‖s‖²V̇(0) = {-speed / T:g}·V_1*",
        -speed / T != m / T**2,
    )


STATEMENT = Statement(
    "initial-value-curvature",
    "App. initialization: V̈(0)",
    "V̈_k(0) = G1/T²",
    "V̈_k(0) = −(h/T²)G1",
    as_printed,
    as_corrected,
    fault="wrong constant",
    counterexample=counterexample,
)
