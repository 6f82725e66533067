"""How much of a head's attention follows each pattern: a group's ideal pattern, or lags found in the data.

Overlapping groups share lags, so the mass on a group does not say whose pattern a head copies. Here the attention of a
head by lag is written as a nonnegative mixture of patterns (§2.2's a^(k),*, normalised) and a background that is flat
over the lags that matter and does not increase beyond them, which is what unfocused causal attention looks like.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

Label = int | str

BACKGROUNDS = 16


@dataclass(frozen=True)
class Pattern:
    """A distribution over lags: `label` is the group's number where groups are known, else the lags as text."""

    label: Label
    lags: tuple[int, ...]
    weights: tuple[float, ...]


def ideal_patterns(groups: Sequence[Sequence[int]], alpha: Sequence[Sequence[float]] | None) -> list[Pattern]:
    """The ideal pattern of each group: its lags weighted by alpha, summing to one (uniform where alpha is unknown)."""
    patterns = []
    for k, lags in enumerate(groups):
        raw = np.ones(len(lags)) if alpha is None else np.asarray(alpha[k], dtype=float)
        patterns.append(Pattern(k + 1, tuple(int(lag) for lag in lags), tuple((raw / raw.sum()).tolist())))
    return patterns


def pattern_shares(attention: np.ndarray, lags: Sequence[int], patterns: Sequence[Pattern]) -> np.ndarray:
    """Mixture weight of each pattern, (..., patterns), for attention by lag (..., lags).

    Weights are nonnegative and add up to at most about one; what is missing is background or attention that follows no
    pattern. Rotating the problem to its few unknowns first changes no solution and keeps long contexts cheap.
    """
    basis = np.zeros((len(lags), len(patterns)))
    column = {int(lag): i for i, lag in enumerate(lags)}
    for j, pattern in enumerate(patterns):
        for lag, weight in zip(pattern.lags, pattern.weights, strict=True):
            if lag in column:
                basis[column[lag], j] = weight
    backgrounds = _backgrounds(basis)
    rotation, design = np.linalg.qr(np.concatenate([basis, backgrounds], axis=1))
    rows = attention.reshape(-1, len(lags))
    if not backgrounds.shape[1] and len(patterns) > 1:
        rows = rows - rows.min(axis=1, keepdims=True)
    shares = np.array([nnls(design, row)[0][: len(patterns)] for row in rows @ rotation])
    return shares.reshape(*attention.shape[:-1], len(patterns))


def _backgrounds(basis: np.ndarray) -> np.ndarray:
    """Even attention to the first L lags for up to `BACKGROUNDS` values of L beyond the last lag of a pattern.

    Their mixtures are flat over the patterns and fall off beyond, so that a background is only ever credited with what
    the lags outside all patterns also receive. Where the patterns use every lag there is no outside to learn from; then
    what all lags receive alike is the background.
    """
    used = np.flatnonzero(basis.any(axis=1))
    first = int(used[-1]) + 2 if len(used) else 1
    if first > len(basis):
        return np.zeros((len(basis), 0))
    ends = np.unique(np.geomspace(first, len(basis), BACKGROUNDS).round().astype(int))
    return np.asarray(np.where(np.arange(len(basis))[:, None] < ends, 1.0 / ends, 0.0))
