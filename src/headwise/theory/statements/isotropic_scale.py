"""§3.1, after Assumption 2: whether a covariance σ²I can be absorbed into the strengths depends on what is meant.

The *loss* can be: with σV in place of V it is that of strengths σm. The *gradient flow* cannot: both gradients gain
the factor σ², while the flow of the model with strengths σm moves V and q by other factors. For the flow, covariance
σ²I is a change of time with the strengths as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, flow, pi, tensor
from headwise.theory.statement import Counterexample, Outcome, Reading, Statement, identity, relative_error
from headwise.theory.statements.noise_assumption import population

Field = Callable[[Instance, Array, Array, float], tuple[Array, Array]]


def scaled_covariance(i: Instance, V: Array, s: Array, sigma: float) -> tuple[Array, Array]:
    """The flow for tokens of covariance σ²I, by enumeration of a population."""
    x = sigma * population(V.shape[1], i.positions)
    error = np.einsum("abt,nbt->na", tensor(V, s) - i.goal, x)
    shift = -np.einsum("na,nbt,kt->kab", error, x, s) / len(x)
    pull = -np.einsum("na,kab,nbt->kt", error, V, x) / len(x)
    return shift, np.stack([pi(row) @ pi(row) @ g for row, g in zip(s, pull, strict=True)])


def scaled_strengths(i: Instance, V: Array, s: Array, sigma: float) -> tuple[Array, Array]:
    """As printed: covariance I and strengths σ m, in terms of V = V'/σ so that both models predict the same."""
    shift, step = flow(sigma * i.goal, sigma * V, s)
    return shift / sigma, step


def scaled_time(i: Instance, V: Array, s: Array, sigma: float) -> tuple[Array, Array]:
    """As corrected: covariance I, the same strengths, time σ²t."""
    shift, step = flow(i.goal, V, s)
    return shift * sigma**2, step * sigma**2


def _errors(rng: np.random.Generator, trials: int, claim: Field) -> Outcome:
    errors = []
    for _ in range(trials):
        i, sigma = draw_instance(rng), float(rng.uniform(1.3, 3.0))
        truth, claimed = scaled_covariance(i, i.V, i.s, sigma), claim(i, i.V, i.s, sigma)
        errors.append(max(relative_error(a, b) for a, b in zip(truth, claimed, strict=True)))
    return identity(errors)


def of_the_flow(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, scaled_strengths)


def of_the_loss(rng: np.random.Generator, trials: int) -> Outcome:
    """The loss for covariance σ²I, by enumeration, against the tensor loss of strengths σm at σV."""
    errors = []
    for _ in range(trials):
        i, sigma = draw_instance(rng), float(rng.uniform(1.3, 3.0))
        x = sigma * population(i.V.shape[1], i.positions)
        missed = np.einsum("abt,nbt->na", tensor(i.V, i.s) - i.goal, x)
        claimed = 0.5 * np.sum((sigma * i.goal - tensor(sigma * i.V, i.s)) ** 2)
        errors.append(relative_error(0.5 * np.sum(missed**2) / len(x), claimed))
    return identity(errors)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, scaled_time)


def counterexample() -> Counterexample:
    """One feature at the first of two positions, d = 1: V̇ = ⟨G − P, s⟩ with P = Vs, and q̇ = Π(s)V(G − P)."""
    m, V, s, sigma = 1.0, 0.5, np.array([0.5, 0.5]), 2.0
    rest = np.array([m, 0.0]) - V * s
    values, logit = float(rest @ s), float((pi(s) @ (V * rest))[0])
    absorbed = float((sigma * rest) @ s) / sigma, float((pi(s) @ (sigma * V * sigma * rest))[0])
    return Counterexample(
        f"d = h = 1, T = 2, m_1 = {m:g}, covariance σ² = {sigma**2:g}, V = {V:g}, s = ({s[0]:g}, {s[1]:g})",
        f"absorbed into m: V̇ and q̇_1 are those of strength σm at σV; V̇ = {absorbed[0]:g}, q̇_1 = {absorbed[1]:g}",
        f"V̇ = {sigma**2 * values:g}, q̇_1 = {sigma**2 * logit:g}",
        sigma**2 * values != absorbed[0],
    )


STATEMENT = Statement(
    "isotropic-scale",
    "§3.1, after Assumption 2: scale",
    "tokens of covariance σ²I reduce to the normalised case by absorbing σ into the strengths",
    "for the flow, covariance σ²I is the change of time t → σ²t with the strengths unchanged",
    None,
    as_corrected,
    fault="false",
    readings=(
        Reading("the loss is that of strengths σm", of_the_loss),
        Reading("the gradient flow is that of strengths σm", of_the_flow),
    ),
    counterexample=counterexample,
)
