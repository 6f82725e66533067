"""Contexts as numbers: the tokens at some lags, read as digits in base d, the first given lag leading."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from headwise.task.chain import IntArray, Task
from headwise.task.features import FloatArray


def visible_windows(task: Task, sequences: npt.NDArray[np.integer], lags: Sequence[int]) -> npt.NDArray[np.integer]:
    """The tokens at the given lags before each predicted position, shape (N, T, number of lags)."""
    w, length = task.config.w, sequences.shape[1]
    windows = np.empty((len(sequences), length - w, len(lags)), dtype=sequences.dtype)
    for column, lag in enumerate(lags):
        windows[..., column] = sequences[:, w - lag : length - lag]
    return windows


def context_index(windows: npt.NDArray[np.integer], d: int) -> IntArray:
    """The number of each context along the last axis."""
    index = np.zeros(windows.shape[:-1], dtype=np.int64)
    for column in range(windows.shape[-1]):
        index = index * d + windows[..., column]
    return index


def context_logits(task: Task, lags: Sequence[int]) -> FloatArray:
    """Logits of every context of the given lags, in the order of their numbers, shape (d^lags, d)."""
    d = task.config.d
    logits = np.zeros((1, d))
    for lag in lags:
        logits = (logits[:, None, :] + task.lag_tables[lag - 1]).reshape(-1, d)
    return logits
