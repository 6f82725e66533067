"""§3.1, after Assumption 2: random one-hot tokens are not an example of Assumption 1.

Tokens at different positions share the mean 1/d, so E[x_i x_jᵀ] = 11ᵀ/d² for i ≠ j. Centred and scaled tokens
√d (x − 1/d) have E[x_i x_jᵀ] = 1{i=j} (I − 11ᵀ/d): isotropic on the d−1 dimensions that are left.
"""

from __future__ import annotations

import itertools

import numpy as np

from headwise.theory.instance import Array
from headwise.theory.statement import Counterexample, Outcome, Statement, identity


def moments(d: int, T: int, *, centre: float, scale: float) -> Array:
    """E[x_i x_jᵀ] (T, d, T, d) over all d^T sequences of one-hot tokens."""
    sequences = np.array(list(itertools.product(range(d), repeat=T)))
    x = scale * (np.eye(d)[sequences] - centre)
    return np.asarray(np.einsum("nia,njb->iajb", x, x) / len(x))


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(min(trials, 5)):
        d, T = int(rng.integers(2, 6)), int(rng.integers(2, 4))
        second = moments(d, T, centre=0.0, scale=np.sqrt(d))
        errors.append(float(np.abs(second - np.einsum("ij,ab->iajb", np.eye(T), np.eye(d))).max()))
    return identity(
        errors,
        quantity="largest wrong entry",
        evidence=f"E[x_i x_jᵀ] − 1{{i=j}} I has entries up to {max(errors):.2g}, 1/d between positions",
    )


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    errors = []
    for _ in range(min(trials, 5)):
        d, T = int(rng.integers(2, 6)), int(rng.integers(2, 4))
        second = moments(d, T, centre=1 / d, scale=np.sqrt(d))
        wanted = np.einsum("ij,ab->iajb", np.eye(T), np.eye(d) - 1 / d)
        errors.append(float(np.abs(second - wanted).max()))
    return identity(errors)


def counterexample() -> Counterexample:
    second = moments(2, 2, centre=0.0, scale=1.0)[0, :, 1, :]
    return Counterexample(
        "d = T = 2, both tokens independent and uniform on {e_1, e_2}",
        "E[x_1 x_2ᵀ] = 0 up to the scale of the tokens",
        f"E[x_1 x_2ᵀ] has all four entries {second[0, 0]:g}, as large as half of E[x_1 x_1ᵀ]",
        bool(np.abs(second).min() > 0),
    )


STATEMENT = Statement(
    "one-hot-tokens",
    "§3.1, after Assumption 2: example",
    "independent uniform one-hot tokens, scaled by √d, have E[x_i x_jᵀ] = 1{i=j} I",
    "only centred: E[x_i x_jᵀ] = 1{i=j} (I − 11ᵀ/d), isotropic off the constant direction",
    as_printed,
    as_corrected,
    fault="false",
    counterexample=counterexample,
)
