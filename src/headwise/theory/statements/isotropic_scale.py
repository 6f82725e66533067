"""§3.1, after Assumption 2: an isotropic covariance σ²I is a change of time, not of the strengths.

With E[x_i x_jᵀ] = σ² 1{i=j} I both gradients gain the factor σ². Scaling the strengths by σ, with or without scaling
V along, changes V̇ and q̇ by different factors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, flow, pi, tensor
from headwise.theory.statement import Outcome, Statement, identity, relative_error
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


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, scaled_strengths)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return _errors(rng, trials, scaled_time)


STATEMENT = Statement(
    "isotropic-scale",
    "§3.1, after Assumption 2",
    "tokens of covariance σ²I reduce to the normalised case by absorbing σ into the strengths",
    "covariance σ²I is the change of time t → σ²t with the strengths unchanged",
    as_printed,
    as_corrected,
)
