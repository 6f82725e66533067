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
enough to meet each one often. Beyond that the law of the chain has a fitted stand-in (`bayes_fitted`), whose
convergence is recorded, and the other laws are refused. What is costly can be kept by the caller: see `Remember`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from headwise.core.errors import ConfigError
from headwise.task import bayes_fitted
from headwise.task.bayes_exact import chain_table, mean_softmax, position_tables
from headwise.task.bayes_sampled import sampled_chain_table, sampled_uniform_table
from headwise.task.chain import Task, checked_sequences, log_probabilities
from headwise.task.contexts import context_index, context_logits, visible_windows
from headwise.task.features import FloatArray

ContextLaw = Literal["chain", "position", "uniform"]
Method = Literal["complete", "exact", "sampled", "fitted"]

Compute = Callable[[], Mapping[str, npt.NDArray[np.floating]]]
Remember = Callable[[str, Compute], Mapping[str, npt.NDArray[np.floating]]]
"""Gives the arrays kept under a key, computing them where there are none; the key names all they depend on."""

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
    output (d^visible, d), visible contexts counted with the smallest lag as the leading digit. Of a `fitted` one `fit`
    says how the fit went.
    """

    visible: tuple[int, ...]
    law: ContextLaw
    method: Method
    evaluate: Callable[[npt.NDArray[np.integer]], FloatArray]
    samples: int = 0
    standard_error: FloatArray | None = None
    fit: bayes_fitted.Fit | None = None

    @property
    def converged(self) -> bool:
        """Whether it can be taken for the optimum: always, but for a fit that has not converged."""
        return self.fit is None or self.fit.converged

    def __call__(self, sequences: npt.NDArray[np.integer]) -> FloatArray:
        """Next-token log-probabilities at every position after the first w."""
        return self.evaluate(sequences)


def compute_anew(key: str, compute: Compute) -> Mapping[str, npt.NDArray[np.floating]]:
    """Keep nothing."""
    return compute()


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
    remember: Remember = compute_anew,
) -> BayesPredictor:
    """The Bayes-optimal predictor that sees only the lags `visible`, with hidden tokens distributed by `law`.

    `samples` (transitions) matters only where the average is sampled, `seed` there and where it is fitted. `remember`
    is asked for what takes long under the law of the chain.
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
        if bayes_fitted.network_size(task, seen) > bayes_fitted.LARGEST_NETWORK:
            raise _refusal(task, seen, "use law uniform" if d ** len(hidden) <= MOST_HIDDEN else None)
        key = _key(task, seen, "fitted", bayes_fitted.VERSION, seed)
        fitted = remember(key, lambda: bayes_fitted.fit_restricted(task, seen, seed=seed))
        return BayesPredictor(seen, law, "fitted", _fitted(task, seen, fitted), fit=bayes_fitted.fit_of(fitted))

    def tabulated() -> Mapping[str, npt.NDArray[np.floating]]:
        chain = sampled_chain_table(task, seen, hidden, samples=samples, seed=seed)
        counted = np.array([chain.samples], dtype=np.float64)
        return {"log_p": chain.log_p, "standard_error": chain.standard_error, "samples": counted}

    table = remember(_key(task, seen, "sampled", samples, seed), tabulated)
    return BayesPredictor(
        seen,
        law,
        "sampled",
        _lookup(task, seen, np.asarray(table["log_p"], dtype=np.float64)),
        samples=int(table["samples"][0]),
        standard_error=np.asarray(table["standard_error"], dtype=np.float64),
    )


def _key(task: Task, seen: tuple[int, ...], *others: object) -> str:
    """Digits that name everything a predictor depends on."""
    digest = hashlib.sha256(np.ascontiguousarray(task.lag_tables).tobytes())
    digest.update(repr((task.lag_tables.shape, task.config.T, seen, others)).encode())
    return digest.hexdigest()[:32]


def _fitted(
    task: Task, seen: tuple[int, ...], arrays: Mapping[str, npt.NDArray[np.floating]]
) -> Callable[[npt.NDArray[np.integer]], FloatArray]:
    return lambda sequences: bayes_fitted.evaluate_fitted(task, seen, arrays, checked_sequences(task, sequences))


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
