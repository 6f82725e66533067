"""Assumption 1: for Prop. matrix the noise must be uncorrelated with the tokens; zero mean alone is not enough.

The text draws X from P_X and ξ from P_ξ. Read as independent draws that is enough; independence is not written down.

The population is a finite one, ±√(dT) times each unit vector of R^{d×T} with equal weight, for which
E[x_i x_jᵀ] = 1{i=j} I holds exactly. ξ = B x_1 has mean zero and moves the minimum by B.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, draw_instance, tensor
from headwise.theory.statement import Counterexample, Outcome, Reading, Statement, identity, relative_error


def population(d: int, T: int) -> Array:
    """All 2dT sequences X (n, d, T), equally likely."""
    units = np.sqrt(d * T) * np.eye(d * T).reshape(d * T, d, T)
    return np.concatenate([units, -units])


def value_gradient(i: Instance, noise: Array, x: Array) -> Array:
    """E[(y_θ − y*)(X s_k)ᵀ] for every head, by enumeration; `noise` (n, d) goes with `x`."""
    rest = tensor(i.V, i.s) - i.goal
    error = np.einsum("abt,nbt->na", rest, x) - noise
    return np.asarray(np.einsum("na,nbt,kt->kab", error, x, i.s) / len(x))


def flow_gradient(i: Instance) -> Array:
    """What Prop. matrix says the gradient is."""
    return np.asarray(np.einsum("abt,kt->kab", tensor(i.V, i.s) - i.goal, i.s))


def _errors(rng: np.random.Generator, trials: int, correlated: float) -> Outcome:
    errors = []
    for _ in range(trials):
        i = draw_instance(rng)
        d = i.V.shape[1]
        x = population(d, i.positions)
        noise = correlated * np.einsum("ab,nb->na", rng.standard_normal((d, d)), x[:, :, 0])
        # An independent sign on two copies of the population gives noise of mean zero that no token predicts.
        x, kicks = np.concatenate([x, x]), rng.standard_normal((len(x), d))
        noise = np.concatenate([noise + kicks, noise - kicks])
        assert np.abs(noise.mean(0)).max() < 1e-12
        errors.append(relative_error(value_gradient(i, noise, x), flow_gradient(i)))
    return identity(errors)


def zero_mean(rng: np.random.Generator, trials: int) -> Outcome:
    """Zero mean alone: noise that follows the first token."""
    return _errors(rng, trials, 1.0)


def uncorrelated(rng: np.random.Generator, trials: int) -> Outcome:
    """Zero mean and uncorrelated with X."""
    return _errors(rng, trials, 0.0)


def counterexample() -> Counterexample:
    """d = T = h = 1, x = ±1: the gradient is E[(Vx − mx − ξ)x]."""
    m, V = 1.0, 0.0
    x = np.array([1.0, -1.0])
    noise = x
    found = float(np.mean((V * x - m * x - noise) * x))
    return Counterexample(
        f"d = T = h = 1, m_1 = {m:g}, V = {V:g}, x = 1 or −1 with equal odds, ξ = x, so E[ξ] = {np.mean(noise):g}",
        f"∂L/∂V = V − m_1 = {V - m:g}",
        f"∂L/∂V = E[(Vx − m_1x − ξ)x] = {found:g}",
        found != V - m,
    )


STATEMENT = Statement(
    "noise-assumption",
    "Assumption 1",
    "noise of mean zero leaves the population gradient that of the tensor loss",
    "the noise must also be uncorrelated with X",
    None,
    uncorrelated,
    fault="false",
    readings=(
        Reading("ξ is drawn independently of X", uncorrelated),
        Reading("ξ has mean zero and nothing more is asked", zero_mean),
    ),
    counterexample=counterexample,
)
