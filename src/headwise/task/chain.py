"""The Markov chain of paper §2.1: built from a config, sampled exactly, and evaluated (Eqs. 1 and 2).

A sequence is w initial tokens, independent and uniform, followed by T tokens of the chain; predictions are for the
latter alone. Because tokens are one-hot, Eq. 1 is a sum of table rows, one per lag, and no matrix is multiplied.
Groups count from 1 and lag 1 is the token just before the predicted one, here and everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator
from headwise.task.config import Lags, TaskConfig, Weights, group_lags, group_weights
from headwise.task.features import FloatArray, draw_features

IntArray = npt.NDArray[np.int64]

# Sequences computed at a time: their logits then stay in the processor's cache.
CHUNK = 512


@dataclass(frozen=True, eq=False)
class Task:
    """One drawn task. Arrays are read-only.

    `features[k-1]` is A_k with `[output, token]`; `weights[k-1, i-1]` is the alpha of lag i in group k, zero outside
    I(k); `lag_tables[i-1, token]` are the logits that `token` at lag i adds (Eq. 1).
    """

    config: TaskConfig
    features: FloatArray
    lags: tuple[Lags, ...]
    alpha: tuple[Weights, ...]
    weights: FloatArray
    lag_tables: FloatArray


def build_task(config: TaskConfig, seed: int) -> Task:
    """Draw the features of a task from the seed's task stream and lay out its tables."""
    features = draw_features(config, generator(seed, Stream.TASK))
    lags = group_lags(config)
    alpha = group_weights(config, lags)
    weights = np.zeros((config.h, config.w))
    for k, (group, group_alpha) in enumerate(zip(lags, alpha, strict=True)):
        weights[k, np.asarray(group) - 1] = group_alpha
    tables = tabulate(features, weights)
    for array in (features, weights, tables):
        array.setflags(write=False)
    return Task(config, features, lags, alpha, weights, tables)


def tabulate(features: FloatArray, weights: FloatArray) -> FloatArray:
    """Logits by lag, token and output, shape (w, d, d), of features (h, d, d) with weights (h, w)."""
    return np.ascontiguousarray(np.einsum("kl,kot->lto", weights, features))


def sample(task: Task, count: int, rng: np.random.Generator) -> IntArray:
    """Draw `count` sequences of Eq. 1, shape (count, w + T).

    One uniform number per token, by inversion of the cumulative distribution in float64. The numbers are taken sequence
    by sequence, so a smaller sample with the same generator is the beginning of a larger one.
    """
    d, w, length = task.config.d, task.config.w, task.config.w + task.config.T
    active = _active_lags(task.lag_tables)
    sequences = np.empty((count, length), dtype=np.int64)
    for rows in _chunks(count):
        uniforms = rng.random((rows.stop - rows.start, length))
        tokens = sequences[rows]
        tokens[:, :w] = uniforms[:, :w] * d
        for t in range(w, length):
            mass = np.zeros((len(tokens), d))
            for lag in active:
                mass += task.lag_tables[lag - 1][tokens[:, t - lag]]
            mass -= mass.max(axis=1, keepdims=True)
            np.exp(mass, out=mass)
            np.cumsum(mass, axis=1, out=mass)
            threshold = uniforms[:, t, None] * mass[:, -1:]
            # The last entry is left out: rounding may lift the threshold to the total, and no token lies beyond it.
            tokens[:, t] = (mass[:, :-1] <= threshold).sum(axis=1)
    return sequences


def log_probabilities(
    task: Task, sequences: npt.NDArray[np.integer], groups: Sequence[int] | None = None
) -> FloatArray:
    """Next-token log-probabilities at every position after the first w, shape (N, T, d).

    With `groups` (counted from 1) only their terms enter the logits: groups 1..i give the predictor f_{A_{1:i}} of
    Eq. 2, all of them (the default) Eq. 1 itself. A left-out group is absent, not averaged over; the latter is the
    Bayes predictor.
    """
    tokens = checked_sequences(task, sequences)
    w, count, length = task.config.w, *tokens.shape
    tables = task.lag_tables if groups is None else group_tables(task, groups)
    result = np.zeros((count, length - w, task.config.d))
    for rows in _chunks(count):
        logits = result[rows]
        for lag in _active_lags(tables):
            logits += tables[lag - 1][tokens[rows, w - lag : length - lag]]
        logits[...] = log_softmax(logits)
    return result


def entropy(log_p: FloatArray) -> FloatArray:
    """Entropy in nats of the distributions along the last axis; for Eq. 1 its mean is the least loss possible."""
    p = np.exp(log_p)
    return np.asarray(-(p * np.where(p > 0, log_p, 0.0)).sum(axis=-1))


def group_tables(task: Task, groups: Sequence[int]) -> FloatArray:
    """Logits by lag, token and output of some groups alone, shape (w, d, d)."""
    h = task.config.h
    if len(set(groups)) < len(groups) or any(not 1 <= k <= h for k in groups):
        raise ConfigError(f"groups {tuple(groups)} must be different numbers in 1..{h} (task.h)")
    rows = [k - 1 for k in groups]
    return tabulate(task.features[rows], task.weights[rows])


def checked_sequences(task: Task, sequences: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """The sequences themselves, once it is sure that indexing tables with them cannot wrap around."""
    tokens, w, d = np.asarray(sequences), task.config.w, task.config.d
    if tokens.ndim != 2 or tokens.shape[1] <= w or not np.issubdtype(tokens.dtype, np.integer):
        raise ConfigError(
            f"sequences must be integers of shape (N, more than task.w = {w}), got {tokens.dtype} {tokens.shape}"
        )
    if tokens.size and (tokens.min() < 0 or tokens.max() >= d):
        raise ConfigError(f"tokens must lie in 0..{d - 1} (task.d = {d}), got {tokens.min()}..{tokens.max()}")
    return tokens


def log_softmax(logits: FloatArray) -> FloatArray:
    """Logarithm of the softmax along the last axis."""
    return logits - log_sum_exp(logits, axis=-1, keepdims=True)


def log_sum_exp(values: FloatArray, *, axis: int, keepdims: bool = False) -> FloatArray:
    """Logarithm of the sum of exponentials of finite values, without overflow."""
    top = values.max(axis=axis, keepdims=True)
    total = np.log(np.exp(values - top).sum(axis=axis, keepdims=True)) + top
    return np.asarray(total if keepdims else np.squeeze(total, axis=axis))


def _active_lags(tables: FloatArray) -> list[int]:
    """Lags that change the logits at all; groups need not cover 1..w."""
    return [lag for lag, table in enumerate(tables, start=1) if table.any()]


def _chunks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, count)) for start in range(0, count, CHUNK))
