"""Eq. 1 transcribed with one-hot vectors and Python loops: the independent oracle of the task tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from headwise.task import Task

Context = tuple[int, ...]
"""Tokens at lags 1, 2, ..., w: the most recent first."""


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = [math.exp(value - max(logits)) for value in logits]
    return np.array(weights) / math.fsum(weights)


def next_token(task: Task, context: Context, groups: Sequence[int] | None = None) -> np.ndarray:
    """softmax(sum_k A_k sum_{i in I(k)} alpha_i x_{t-i}) for one context."""
    d = task.config.d
    logits = np.zeros(d)
    for k in groups if groups is not None else range(1, task.config.h + 1):
        mixed = np.zeros(d)
        for lag, alpha in zip(task.lags[k - 1], task.alpha[k - 1], strict=True):
            one_hot = np.zeros(d)
            one_hot[context[lag - 1]] = 1.0
            mixed += alpha * one_hot
        logits += task.features[k - 1] @ mixed
    return softmax(logits)


def contexts(task: Task) -> Iterator[Context]:
    return itertools.product(range(task.config.d), repeat=task.config.w)


def law_of_contexts(task: Task, t: int) -> dict[Context, float]:
    """Probability of each context before position t (from 1), the chain started from uniform tokens."""
    law = {context: task.config.d ** -float(task.config.w) for context in contexts(task)}
    for _ in range(t - 1):
        after: dict[Context, list[float]] = {context: [] for context in law}
        for context, mass in law.items():
            p = next_token(task, context)
            for token in range(task.config.d):
                after[(token, *context[:-1])].append(mass * p[token])
        law = {context: math.fsum(parts) for context, parts in after.items()}
    return law


def conditional(task: Task, law: dict[Context, float], visible: Sequence[int]) -> dict[Context, np.ndarray]:
    """P(next token | tokens at the visible lags) when contexts follow `law`."""
    joint: dict[Context, np.ndarray] = {}
    for context, mass in law.items():
        key = tuple(context[lag - 1] for lag in visible)
        joint[key] = joint.get(key, np.zeros(task.config.d)) + mass * next_token(task, context)
    return {key: value / value.sum() for key, value in joint.items()}


def sequences_through_all_contexts(task: Task) -> np.ndarray:
    """One sequence per context, with a single predicted token whose value does not matter."""
    return np.array([(*context[::-1], 0) for context in contexts(task)])
