"""App. C, higher-order heads: the rate of s'_(n−1), with the attention on all earlier positions summed in squares."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, Instance, against, draw_instance, inner, pi
from headwise.theory.statement import Outcome, Statement, compare


def draw(rng: np.random.Generator) -> Instance:
    return draw_instance(rng, h=int(rng.integers(3, 5)))


def _parts(i: Instance) -> tuple[Array, Array, Array]:
    n, V, s = i.heads, i.V[-1], i.s[-1]
    tail = s * (np.arange(i.positions) >= n - 1)
    return s, tail, against(V, i.tail(n - 1)) - inner(V, V) * tail


def truth(i: Instance) -> Array:
    s, _, g = _parts(i)
    return (pi(s) @ pi(s) @ g)[i.heads - 1 :]


def display(i: Instance) -> Array:
    s, tail, g = _parts(i)
    squares = np.sum(s[: i.heads - 1] ** 2)
    return ((pi(tail) @ pi(tail) + squares * np.outer(tail, tail)) @ g)[i.heads - 1 :]


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return compare(rng, trials, draw=draw, truth=truth, claim=display)


STATEMENT = Statement(
    "nth-head-rate",
    "App. C, higher-order heads: ṡ'_(n−1)",
    "ṡ'_(n−1) = (Π(s'_(n−1))² + Σ_j⟨s_j*, s'⟩² s'_(n−1)s'_(n−1)ᵀ)g'",
    "the same",
    as_printed,
)
