"""Lemma kernel, first part: the kernel of Π(s) on the simplex is a sum of two subspaces, not their union."""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array, pi
from headwise.theory.statement import Outcome, Statement, identity


def draw_sparse(rng: np.random.Generator) -> Array:
    """A point of the simplex with some entries exactly zero."""
    T = int(rng.integers(4, 9))
    support = int(rng.integers(2, T))
    s = np.zeros(T)
    s[rng.permutation(T)[:support]] = rng.dirichlet(np.full(support, 2.0))
    return s


def in_union(s: Array, v: Array) -> bool:
    """As printed: v vanishes on the support, or is a multiple of the support's indicator."""
    support = s > 0
    alone = bool(np.allclose(v[support], 0))
    constant = bool(np.allclose(v[~support], 0) and np.allclose(v[support], v[support].mean()))
    return alone or constant


def distance_to_sum(s: Array, v: Array) -> float:
    """As corrected: how far v is from being constant on the support (anything goes elsewhere)."""
    return float(np.abs(v[s > 0] - v[s > 0].mean()).max())


def null_vectors(s: Array) -> Array:
    """An orthonormal basis of the kernel, from the singular value decomposition."""
    _, values, rows = np.linalg.svd(pi(s))
    return rows[values < 1e-12]


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    missed = []
    for _ in range(trials):
        s = draw_sparse(rng)
        basis = null_vectors(s)
        v = rng.standard_normal(len(basis)) @ basis
        missed.append(0.0 if in_union(s, v) else float(np.linalg.norm(v)))
    share = np.mean(np.array(missed) > 0)
    return identity(missed, evidence=f"{share:.0%} of random kernel vectors are outside the union")


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    """Every kernel vector is in the sum, every vector of the sum is in the kernel, and the dimensions agree."""
    errors = []
    for _ in range(trials):
        s = draw_sparse(rng)
        basis = null_vectors(s)
        inside = np.where(s > 0, rng.standard_normal(), rng.standard_normal(len(s)))
        errors += [distance_to_sum(s, v) for v in basis]
        errors.append(float(np.abs(pi(s) @ inside).max()))
        errors.append(float(abs(len(basis) - (np.sum(s == 0) + 1))))
    return identity(errors)


STATEMENT = Statement(
    "kernel",
    "Lemma kernel, ‖s‖₁ = 1",
    "ker Π(s) is the union of the span of unused positions and the line of the support's indicator",
    "ker Π(s) is the sum of these two spaces",
    as_printed,
    as_corrected,
    fault="typo",
)
