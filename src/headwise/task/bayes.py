"""The best prediction from some lags alone: what a model can know that sees only the first groups.

Eq. 2 drops the other groups' logits; a model that cannot see their tokens does better by averaging Eq. 1 over them,
given the tokens it sees. That average is the Bayes-optimal predictor here, and its distance from Eq. 2 is why the KL to
f_{A_1} bottoms above zero. It depends on the law of the hidden tokens, which is therefore named:

- `chain`: contexts as they occur at the counted positions t = 1..T, all positions pooled. The optimum of a predictor
  that does not know t, such as a sliding-window model, under the loss that models are trained on. The default.
- `position`: the same for each t by itself; the optimum of a predictor that knows t. Never worse than `chain`, but it
  needs the exact law, which is cheap only for small chains.
- `uniform`: hidden tokens independent and uniform, whatever is seen. Exact for t = 1, an approximation after it.

Each is exact where the enumeration is small, else an average over sampled contexts where the visible contexts are few
enough to meet each one often, else refused: a trained restricted-context model then stands in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from headwise.core.errors import ConfigError
from headwise.task.bayes_exact import chain_table, mean_softmax, position_tables
from headwise.task.bayes_sampled import sampled_chain_table, sampled_uniform_table
from headwise.task.chain import Task, checked_sequences, log_probabilities
from headwise.task.contexts import context_index, context_logits, visible_windows
from headwise.task.features import FloatArray

ContextLaw = Literal["chain", "position", "uniform"]
Method = Literal["complete", "exact", "sampled"]

LARGEST_ENUMERATION = 10_000_000
"""Transitions d^(w+1) up to which the joint law of contexts is propagated exactly (hundreds of megabytes at most)."""

MOST_HIDDEN = 100_000
"""Hidden contexts up to which the uniform law is summed exactly for every visible context asked for."""

MOST_VISIBLE = 100_000
"""Visible contexts up to which averaging over sampled contexts meets each of them often enough."""


@dataclass(frozen=True, eq=False)
class BayesPredictor:
    """Call it with sequences (N, w + T) for log-probabilities (N, T, d).

    `method` is `complete` when nothing that matters is hidden (the predictor is Eq. 1), else `exact` or `sampled`. Then
    `samples` counts the sampled transitions and `standard_error` is that of the probabilities, by visible context and
    output (d^visible, d), visible contexts counted with the smallest lag as the leading digit.
    """

    visible: tuple[int, ...]
    law: ContextLaw
    method: Method
    evaluate: Callable[[npt.NDArray[np.integer]], FloatArray]
    samples: int = 0
    standard_error: FloatArray | None = None

    def __call__(self, sequences: npt.NDArray[np.integer]) -> FloatArray:
        """Next-token log-probabilities at every position after the first w."""
        return self.evaluate(sequences)


def prefix_lags(task: Task, count: int) -> tuple[int, ...]:
    """The lags of the first `count` groups, in increasing order."""
    return tuple(sorted({lag for group in task.lags[:count] for lag in group}))


def bayes_predictor(
    task: Task,
    visible: Sequence[int],
    *,
    law: ContextLaw = "chain",
    samples: int | None = None,
    seed: int = 0,
) -> BayesPredictor:
    """The Bayes-optimal predictor that sees only the lags `visible`, with hidden tokens distributed by `law`.

    `samples` (transitions) and `seed` matter only where the average is sampled.
    """
    seen = tuple(sorted(set(visible)))
    if not seen or any(not 1 <= lag <= task.config.w for lag in seen):
        raise ConfigError(f"visible lags {seen} must be at least one, in 1..{task.config.w} (task.w)")
    hidden = tuple(lag for lag in range(1, task.config.w + 1) if lag not in seen and task.lag_tables[lag - 1].any())
    if not hidden:
        return BayesPredictor(seen, law, "complete", lambda sequences: log_probabilities(task, sequences))
    if law == "uniform":
        return _uniform(task, seen, hidden, samples=samples, seed=seed)
    d, order = task.config.d, max(seen + hidden)
    if d ** (order + 1) <= LARGEST_ENUMERATION:
        propagate = chain_table if law == "chain" else position_tables
        return BayesPredictor(seen, law, "exact", _lookup(task, seen, propagate(task, seen, order)))
    if law == "position":
        raise _refusal(task, seen, "the law of each position needs all contexts enumerated: use law chain")
    if not _few_visible(d, seen):
        raise _refusal(task, seen, "use law uniform" if d ** len(hidden) <= MOST_HIDDEN else None)
    chain = sampled_chain_table(task, seen, hidden, samples=samples, seed=seed)
    return BayesPredictor(
        seen,
        law,
        "sampled",
        _lookup(task, seen, chain.log_p),
        samples=chain.samples,
        standard_error=chain.standard_error,
    )


def _uniform(
    task: Task, seen: tuple[int, ...], hidden: tuple[int, ...], *, samples: int | None, seed: int
) -> BayesPredictor:
    d = task.config.d
    if d ** len(hidden) <= MOST_HIDDEN:
        hidden_logits = context_logits(task, hidden)

        def evaluate(sequences: npt.NDArray[np.integer]) -> FloatArray:
            windows = visible_windows(task, checked_sequences(task, sequences), seen)
            contexts, place = np.unique(windows.reshape(-1, len(seen)), axis=0, return_inverse=True)
            logits = np.zeros((len(contexts), d))
            for column, lag in enumerate(seen):
                logits += task.lag_tables[lag - 1][contexts[:, column]]
            return np.asarray(mean_softmax(logits, hidden_logits)[place.reshape(windows.shape[:2])])

        return BayesPredictor(seen, "uniform", "exact", evaluate)
    if not _few_visible(d, seen):
        raise _refusal(task, seen, None)
    table = sampled_uniform_table(task, seen, hidden, samples=samples, seed=seed)
    return BayesPredictor(
        seen, "uniform", "sampled", _lookup(task, seen, table.log_p),
        samples=table.samples, standard_error=table.standard_error,
    )  # fmt: skip


def _lookup(task: Task, seen: tuple[int, ...], table: FloatArray) -> Callable[[npt.NDArray[np.integer]], FloatArray]:
    """Evaluation from a table by visible context (d^visible, d), or one per position (T, d^visible, d)."""

    def evaluate(sequences: npt.NDArray[np.integer]) -> FloatArray:
        index = context_index(visible_windows(task, checked_sequences(task, sequences), seen), task.config.d)
        if table.ndim == 2:
            return np.asarray(table[index])
        if index.shape[1] > len(table):
            raise ConfigError(f"sequences predict {index.shape[1]} tokens, the law has task.T = {len(table)} positions")
        return np.asarray(table[np.arange(index.shape[1]), index])

    return evaluate


def _few_visible(d: int, seen: tuple[int, ...]) -> bool:
    contexts: int = d ** len(seen)
    return contexts <= MOST_VISIBLE and contexts * d <= LARGEST_ENUMERATION


def _refusal(task: Task, seen: tuple[int, ...], alternative: str | None) -> ConfigError:
    """One line: what is too large, and what stands in."""
    d, w, either = task.config.d, task.config.w, f"{alternative}, or " if alternative else ""
    return ConfigError(
        f"measure.bayes: the Bayes predictor of {len(seen)} of {w} lags over {d} tokens is too large; "
        f"{either}let a trained restricted-context model stand in (measure.windows = [{max(seen)}])"
    )
