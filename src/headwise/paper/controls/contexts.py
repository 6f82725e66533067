"""Contexts of a task with every predictor's answer to them: what trajectories that nobody trained are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headwise.core.seeds import Stream, generator
from headwise.task.bayes import Remember, bayes_predictor, prefix_lags
from headwise.task.bayes_exact import mean_softmax
from headwise.task.chain import Task, log_softmax, sample
from headwise.task.contexts import visible_windows
from headwise.task.features import FloatArray

UNIFORM_CONTEXTS = 120
HIDDEN = 200
CHAIN_SEQUENCES = 150


@dataclass(frozen=True, eq=False)
class Contexts:
    """Tokens at lags 1..w, (N, w), and log-probabilities (N, d) of the predictors of the first i groups.

    `best[i-1]` sees the lags of groups 1..i and averages over the rest, `prefix[i-1]` is Eq. 2; both end with Eq. 1.
    """

    task: Task
    tokens: npt.NDArray[np.integer]
    best: tuple[FloatArray, ...]
    prefix: tuple[FloatArray, ...]

    @property
    def law(self) -> FloatArray:
        """Log-probabilities of Eq. 1."""
        return self.prefix[-1]

    def logits(self, weights: FloatArray) -> FloatArray:
        """Sum over groups of the feature times the tokens, tokens weighted by `weights` (group, lag)."""
        rows = np.arange(self.task.config.w)
        total = np.zeros((len(self.tokens), self.task.config.d))
        for feature, of_lags in zip(self.task.features, weights, strict=True):
            for lag in rows[of_lags != 0]:
                total += of_lags[lag] * feature.T[self.tokens[:, lag]]
        return total


def divergence(log_p: FloatArray, log_q: FloatArray) -> float:
    """Mean KL(p || q) in nats."""
    return float((np.exp(log_p) * (log_p - log_q)).sum(-1).mean())


def uniform_contexts(task: Task) -> Contexts:
    """Contexts drawn uniformly, for which the best predictor is a plain average over uniform hidden tokens.

    This is the law of the first predicted token of every sequence: cheap for tasks of any size.
    """
    rng = generator(0, Stream.BAYES, 2_000_000)
    w, d, h = task.config.w, task.config.d, task.config.h
    tokens = rng.integers(d, size=(UNIFORM_CONTEXTS, w))
    other = rng.integers(d, size=(HIDDEN, w))
    best = []
    for i in range(1, h + 1):
        seen = [lag - 1 for lag in prefix_lags(task, i)]
        rest = [lag for lag in range(w) if lag not in seen]
        best.append(mean_softmax(_sum(task, tokens, seen), _sum(task, other, rest)))
    return Contexts(task, tokens, tuple(best), _prefixes(task, tokens))


def chain_contexts(task: Task, remember: Remember) -> Contexts:
    """Contexts as they occur in sequences of the task, with the predictors that its runs are compared with."""
    sequences = sample(task, CHAIN_SEQUENCES, generator(0, Stream.BAYES, 2_000_001))
    w, d, h = task.config.w, task.config.d, task.config.h
    tokens = visible_windows(task, sequences, range(1, w + 1)).reshape(-1, w)
    best = (bayes_predictor(task, prefix_lags(task, i), remember=remember)(sequences) for i in range(1, h + 1))
    return Contexts(task, tokens, tuple(one.reshape(-1, d) for one in best), _prefixes(task, tokens))


def _sum(task: Task, tokens: npt.NDArray[np.integer], columns: list[int]) -> FloatArray:
    total = np.zeros((len(tokens), task.config.d))
    for column in columns:
        total += task.lag_tables[column][tokens[:, column]]
    return total


def _prefixes(task: Task, tokens: npt.NDArray[np.integer]) -> tuple[FloatArray, ...]:
    whole = np.zeros((task.config.h, len(tokens), task.config.d))
    for k in range(task.config.h):
        for lag in np.flatnonzero(task.weights[k]):
            whole[k] += task.weights[k, lag] * task.features[k].T[tokens[:, lag]]
    return tuple(log_softmax(logits) for logits in whole.cumsum(0))


def distances(contexts: Contexts, log_q: FloatArray) -> Mapping[str, float]:
    """KL from every predictor to a model's log-probabilities (N, d), by the predictor's name."""
    named = {f"prefix_{i}": one for i, one in enumerate(contexts.prefix, start=1)}
    named |= {f"bayes_{i}": one for i, one in enumerate(contexts.best, start=1)}
    return {name: divergence(one, log_q) for name, one in named.items()}
