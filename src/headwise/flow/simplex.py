"""Softmax and the matrix Π(s) = diag(s) − s sᵀ of §3.1, applied without being formed; any leading dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Indices = np.ndarray[Any, np.dtype[np.intp]]


def softmax(q: Array) -> Array:
    """Attention from logits along the last axis."""
    s: Array = np.exp(q - np.max(q, axis=-1, keepdims=True))
    s /= np.add.reduce(s, -1, keepdims=True)
    return s


def centred_logits(s: Array) -> Array:
    """The logits of mean zero whose softmax is `s`, which must be positive (§3.1: one-to-one)."""
    q = np.log(s)
    centred: Array = q - q.mean(-1, keepdims=True)
    return centred


def project(s: Array, v: Array) -> Array:
    """Π(s) v = s ⊙ (v − ⟨s, v⟩): the derivative of softmax in direction v."""
    weighted = s * v
    weighted -= s * np.add.reduce(weighted, -1, keepdims=True)
    return weighted


def projector(s: Array) -> Array:
    """Π(s) as a matrix, for checks; `s` need not sum to one."""
    matrix: Array = np.diag(s) - np.outer(s, s)
    return matrix
