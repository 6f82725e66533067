"""Bayes predictors by enumeration: the law of contexts pushed forward exactly, and exact averages over hidden ones.

Sums of probabilities are taken as logarithms, so that a rare context or token keeps its finite log-probability however
peaked the chain is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from headwise.task.chain import Task, log_softmax, log_sum_exp
from headwise.task.contexts import context_logits
from headwise.task.features import FloatArray

# Numbers held at a time by an average over hidden contexts.
WORKING_SET = 4_000_000

# exp stays a normal float64 over spans of logits up to here, with room for a product of a few such numbers.
SAFE_SPAN = 300.0


def chain_table(task: Task, visible: Sequence[int], order: int) -> FloatArray:
    """Log-probabilities by visible context under the law of contexts at t = 1..T pooled, shape (d^visible, d)."""
    log_p = log_softmax(context_logits(task, range(1, order + 1)))
    pooled: FloatArray | None = None
    for law in context_laws(log_p, task.config.T):
        pooled = law if pooled is None else np.logaddexp(pooled, law)
    assert pooled is not None  # T >= 1
    return _seen_from(log_p, pooled, visible, order)


def position_tables(task: Task, visible: Sequence[int], order: int) -> FloatArray:
    """The same with each position's own law, shape (T, d^visible, d)."""
    log_p = log_softmax(context_logits(task, range(1, order + 1)))
    return np.stack([_seen_from(log_p, law, visible, order) for law in context_laws(log_p, task.config.T)])


def context_laws(log_p: FloatArray, positions: int) -> Iterator[FloatArray]:
    """Log-law of the contexts (lags 1..order, lag 1 leading) at t = 1, 2, ..., from transitions (d^order, d).

    The chain starts from independent uniform tokens. One step drops the furthest lag and puts the new token in front.
    """
    contexts, d = log_p.shape
    law = np.full(contexts, -np.log(contexts))
    for t in range(positions):
        yield law
        if t + 1 < positions:
            joint = (law[:, None] + log_p).reshape(-1, d, d)  # nearer lags, furthest lag, next token
            law = log_sum_exp(joint, axis=1).T.reshape(-1)


def mean_softmax(seen: FloatArray, hidden: FloatArray, *, power: int = 1) -> FloatArray:
    """Log of the mean over s of softmax(seen[c] + hidden[s])^power, shape (c, d).

    Logits of seen and hidden tokens add, so the sum over s factorises: the normalisers are exp(seen) @ exp(hidden).T
    and the mean is exp(seen) * (1/normaliser) @ exp(hidden), two matrix products instead of c*s softmaxes. Logits that
    span too much for exponentials of their parts take the plain way.
    """
    seen = seen - seen.max(axis=1, keepdims=True)
    hidden = hidden - hidden.max(axis=1, keepdims=True)
    factorises = power * float(-seen.min() - hidden.min()) <= SAFE_SPAN
    per_context = len(hidden) * (1 if factorises else seen.shape[1])
    rows = max(1, WORKING_SET // per_context)
    average = _factorised if factorises else _plain
    parts = [average(seen[start : start + rows], hidden, power) for start in range(0, len(seen), rows)]
    return np.concatenate(parts) if parts else np.empty(seen.shape)


def _factorised(seen: FloatArray, hidden: FloatArray, power: int) -> FloatArray:
    exp_hidden = np.exp(hidden)
    inverse = 1.0 / (np.exp(seen) @ exp_hidden.T)
    total = inverse**power @ exp_hidden**power if power != 1 else inverse @ exp_hidden
    return np.asarray(power * seen + np.log(total / len(hidden)))


def _plain(seen: FloatArray, hidden: FloatArray, power: int) -> FloatArray:
    total = log_sum_exp(power * log_softmax(seen[:, None] + hidden[None]), axis=1)
    return np.asarray(total - np.log(len(hidden)))


def _seen_from(log_p: FloatArray, log_law: FloatArray, visible: Sequence[int], order: int) -> FloatArray:
    """Average transitions (d^order, d) over the hidden lags, contexts weighted by their (unnormalised) law."""
    d = log_p.shape[1]
    hidden = [lag for lag in range(1, order + 1) if lag not in visible]
    axes = [lag - 1 for lag in (*visible, *hidden)]
    joint = (log_law[:, None] + log_p).reshape((d,) * (order + 1)).transpose((*axes, order))
    return log_softmax(log_sum_exp(joint.reshape(d ** len(visible), -1, d), axis=1))
