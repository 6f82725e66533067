"""Random instances of the regression task with everything written out: d × d matrices, tensors, derivatives.

Deliberately independent of the reduction: the checks below test formulas on the objects of the paper themselves, and
every function also takes complex numbers at run time, so that derivatives can be taken exactly by a complex step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from headwise.flow.simplex import Array as Array
from headwise.flow.target import Target, singleton_target
from headwise.task.features import haar_orthogonal, nearest_orthonormal

COMPLEX_STEP = 1e-30


@dataclass(frozen=True, eq=False)
class Instance:
    """Strengths (h,) in falling order, Frobenius-orthonormal features (h, d, d), T positions, feature k at position k.

    `V` (h, d, d) and `s` (h, T) are a random point of parameter space: values outside the features' span, attention
    inside the simplex.
    """

    strengths: Array
    features: Array
    positions: int
    V: Array
    s: Array

    @property
    def heads(self) -> int:
        """h."""
        return len(self.strengths)

    @property
    def patterns(self) -> Array:
        """s_1*, ..., s_h*."""
        return np.eye(self.heads, self.positions)

    @property
    def goal(self) -> Array:
        """G (d, d, T)."""
        return tensor(self.strengths[:, None, None] * self.features, self.patterns)

    def tail(self, n: int) -> Array:
        """G_(n): the target without its first n features."""
        return tensor(self.strengths[n:, None, None] * self.features[n:], self.patterns[n:])

    def target(self) -> Target:
        """The same target for the reduction."""
        return singleton_target(self.strengths, self.positions)


def draw_instance(
    rng: np.random.Generator, *, h: int | None = None, T: int | None = None, d: int | None = None, ratio: float = 1.2
) -> Instance:
    """Sizes at random unless given; neighbouring strengths differ by at least `ratio`."""
    h = int(rng.integers(2, 5)) if h is None else h
    T = int(rng.integers(h, h + 5)) if T is None else T
    d = int(rng.integers(3, 6)) if d is None else d
    ratios = rng.uniform(ratio, ratio + 0.6, h - 1)
    strengths = rng.uniform(0.6, 1.2) * np.concatenate([np.cumprod(ratios[::-1])[::-1], [1.0]])
    features = nearest_orthonormal(np.stack([haar_orthogonal(d, rng) for _ in range(h)]))
    return Instance(strengths, features, T, rng.standard_normal((h, d, d)), draw_attention(rng, T, rows=h))


def draw_attention(rng: np.random.Generator, T: int, *, rows: int | None = None) -> Array:
    """Points of the open simplex."""
    return rng.dirichlet(np.full(T, 1.5), size=rows)


def tensor(matrices: Array, vectors: Array) -> Array:
    """Σ_k B_k ⊗ v_k as an array (d, d, T)."""
    return np.asarray(np.einsum("kab,kt->abt", matrices, vectors))


def times(m: Array, v: Array) -> Array:
    """The product M v, a matrix."""
    return np.asarray(np.einsum("abt,t->ab", m, v))


def against(x: Array, m: Array) -> Array:
    """The product Xᵀ M, a vector."""
    return np.asarray(np.einsum("ab,abt->t", x, m))


def inner(a: Array, b: Array) -> float:
    """Sum of products of all entries, without conjugation."""
    total: float = np.sum(a * b)
    return total


def pi(s: Array) -> Array:
    """Π(s) = diag(s) − s sᵀ."""
    return np.diag(s) - np.outer(s, s)


def flow(goal: Array, V: Array, s: Array) -> tuple[Array, Array]:
    """Eq. dynamics: V̇ (h, d, d) and ṡ (h, T)."""
    rest = goal - tensor(V, s)
    shift = np.einsum("abt,kt->kab", rest, s)
    step = np.stack([pi(row) @ pi(row) @ against(v, rest) for v, row in zip(V, s, strict=True)])
    return shift, step


def derivative(function: Callable[[Array], Any], at: Array, direction: Array) -> Any:
    """The directional derivative of an analytic function, by a complex step: exact to rounding."""
    return np.imag(function(at + 1j * COMPLEX_STEP * direction)) / COMPLEX_STEP


def gradient(function: Callable[[Array], Any], at: Array) -> Array:
    """All partial derivatives of an analytic scalar function."""
    result = np.empty(at.shape)
    for index in np.ndindex(at.shape):
        direction = np.zeros(at.shape)
        direction[index] = 1.0
        result[index] = derivative(function, at, direction)
    return result
