"""How much of a head's attention follows each pattern: a group's ideal pattern, or lags found in the data.

Overlapping groups share lags, so the mass on a group does not say whose pattern a head copies. Here the attention of a
head by lag is written as a nonnegative mixture of patterns (§2.2's a^(k),*, normalised) and a background that is flat
over the lags that matter and does not increase beyond them, which is what unfocused attention looks like, causal or
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from headwise.core.events import Label
from headwise.phases.chance import OWN_TOKEN, excess_share

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


def excess_shares(
    attention: np.ndarray, lags: Sequence[int], patterns: Sequence[Pattern], chance: np.ndarray
) -> np.ndarray:
    """Excess share of each pattern's lags together, (..., patterns), at least 0.

    `chance` is what even attention gives each lag and has the shape of the attention, or one that spreads to it. For
    patterns without a lag in common; mixtures of patterns that share lags are told apart by `pattern_shares`.
    """
    column = {int(lag): i for i, lag in enumerate(lags)}
    shares = np.zeros((*attention.shape[:-1], len(patterns)))
    for j, pattern in enumerate(patterns):
        own = [column[lag] for lag in pattern.lags if lag in column]
        shares[..., j] = excess_share(attention[..., own].sum(axis=-1), chance[..., own].sum(axis=-1))
    return np.clip(shares, 0, None)


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
    rows = attention.reshape(-1, len(lags))
    own = min(int(np.searchsorted(lags, OWN_TOKEN)), len(lags) - 1)
    ahead = own - int(np.argmax((rows[:, : own + 1] != 0).any(axis=0)))
    backgrounds = _backgrounds(basis, own, ahead)
    rotation, design = np.linalg.qr(np.concatenate([basis, backgrounds], axis=1))
    if not backgrounds.shape[1] and len(patterns) > 1:
        rows = rows - rows.min(axis=1, keepdims=True)
    shares = np.array([nnls(design, row)[0][: len(patterns)] for row in rows @ rotation])
    return shares.reshape(*attention.shape[:-1], len(patterns))


def _backgrounds(basis: np.ndarray, own: int, ahead: int) -> np.ndarray:
    """Even attention to stretches of lags around the query's own token and all patterns, (lags, backgrounds).

    Their mixtures are flat over the patterns and fall off beyond, so that a background is only ever credited with what
    the lags outside all patterns also receive. Where the patterns use every lag there is no outside to learn from; then
    what all lags receive alike is the background.

    `own` is the row of the query's own token, `ahead` how many rows before it are seen at all. Causal attention sees
    none: its stretches begin at the own token. Attention that sees both ways has stretches that grow both ways, in
    proportion to how far it sees, whose mixtures include the triangle of even attention over whole sequences.
    """
    rows = len(basis)
    used = np.flatnonzero(basis.any(axis=1))
    low, high = min([own, *used[:1].tolist()]), max([own, *used[-1:].tolist()])
    back = rows - 1 - own
    outside = [high - own + 2] * (high < rows - 1) + [own - low + 2] * (low > own - ahead)
    if not outside:
        return np.zeros((rows, 0))
    furthest = max(ahead, back)
    reach = np.unique(np.geomspace(min(outside), furthest + 1, BACKGROUNDS).round()) - 1
    starts = np.minimum(own - (reach * ahead / furthest).round(), low)
    ends = np.maximum(own + (reach * back / furthest).round(), high) + 1
    wider = ends - starts > high + 1 - low
    starts, ends = np.unique(np.stack([starts[wider], ends[wider]]), axis=1)
    place = np.arange(rows)[:, None]
    return np.asarray(np.where((place >= starts) & (place < ends), 1.0 / (ends - starts), 0.0))
