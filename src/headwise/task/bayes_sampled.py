"""Bayes predictors by sampling: Eq. 1 averaged over hidden contexts that were drawn, with standard errors.

Probabilities of the full predictor are averaged, never sampled next tokens, so that every drawn context informs all
outputs at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.core.seeds import Stream, generator
from headwise.task.bayes_exact import mean_softmax
from headwise.task.chain import Task, log_probabilities, sample
from headwise.task.contexts import context_index, context_logits, visible_windows
from headwise.task.features import FloatArray

# Hidden contexts drawn for the uniform law; they serve every visible context.
HIDDEN_SAMPLES = 20_000

# Transitions drawn per visible context for the law of the chain, and the most drawn in all.
SAMPLES_EACH = 800
MOST_SAMPLES = 2_000_000

SEQUENCES_AT_A_TIME = 2_000


@dataclass(frozen=True, eq=False)
class SampledTable:
    """Log-probabilities and standard errors of the probabilities by visible context (d^visible, d)."""

    log_p: FloatArray
    standard_error: FloatArray
    samples: int


def sampled_uniform_table(
    task: Task, visible: tuple[int, ...], hidden: tuple[int, ...], *, samples: int | None = None, seed: int = 0
) -> SampledTable:
    """Average over hidden contexts drawn uniformly, the same ones for every visible context."""
    drawn = HIDDEN_SAMPLES if samples is None else max(2, samples)
    mean, variance = _uniform_mean(task, visible, hidden, drawn=drawn, seed=seed)
    return SampledTable(_log(mean), np.sqrt(variance), drawn)


def sampled_chain_table(
    task: Task, visible: tuple[int, ...], hidden: tuple[int, ...], *, samples: int | None = None, seed: int = 0
) -> SampledTable:
    """Average over contexts of sampled chains at t = 1..T, gathered by visible context.

    The contexts at t = 1 are known to be uniform, so their share is averaged over uniform hidden contexts for every
    visible one alike: none stays empty, however rare. Positions t = 2..T come from sampled sequences. The standard
    error is that of the ratio (mass of context and output over mass of context), to first order, transitions of one
    sequence taken as independent: they rarely share a visible context.
    """
    d, positions = task.config.d, task.config.T
    contexts = d ** len(visible)
    wanted = min(MOST_SAMPLES, max(MOST_SAMPLES // 20, SAMPLES_EACH * contexts)) if samples is None else samples
    sequences = max(1, -(-wanted // positions))
    drawn = min(HIDDEN_SAMPLES, max(2, wanted))
    mean, variance = _uniform_mean(task, visible, hidden, drawn=drawn, seed=seed)
    if positions == 1:
        return SampledTable(_log(mean), np.sqrt(variance), drawn)

    count, total, squares = np.zeros(contexts), np.zeros((contexts, d)), np.zeros((contexts, d))
    for batch, start in enumerate(range(0, sequences, SEQUENCES_AT_A_TIME), start=1):
        tokens = sample(task, min(SEQUENCES_AT_A_TIME, sequences - start), generator(seed, Stream.BAYES, batch))
        p = np.exp(log_probabilities(task, tokens)[:, 1:]).reshape(-1, d)
        index = context_index(visible_windows(task, tokens, visible)[:, 1:], d).reshape(-1)
        by_context = np.argsort(index, kind="stable")
        present, first, size = np.unique(index[by_context], return_index=True, return_counts=True)
        p = p[by_context]
        count[present] += size
        total[present] += np.add.reduceat(p, first, axis=0)
        squares[present] += np.add.reduceat(p * p, first, axis=0)

    # Masses in units of one sampled sequence: the uniform position is worth sequences / contexts in every context.
    uniform = sequences / contexts
    mass = (count + uniform)[:, None]
    estimate = (total + uniform * mean) / mass
    spread = np.maximum(squares - 2 * estimate * total + count[:, None] * estimate**2, 0.0)
    # The uniform part is stratified: its share of the mass is known, only its mean is uncertain.
    error = np.sqrt(spread + uniform**2 * variance) / mass
    return SampledTable(_log(estimate), error, sequences * (positions - 1) + drawn)


def _uniform_mean(
    task: Task, visible: tuple[int, ...], hidden: tuple[int, ...], *, drawn: int, seed: int
) -> tuple[FloatArray, FloatArray]:
    """Mean of the full predictor over uniformly drawn hidden contexts, and its variance, by visible context."""
    tokens = generator(seed, Stream.BAYES, 0).integers(task.config.d, size=(drawn, len(hidden)))
    hidden_logits = np.zeros((drawn, task.config.d))
    for column, lag in enumerate(hidden):
        hidden_logits += task.lag_tables[lag - 1][tokens[:, column]]
    seen = context_logits(task, visible)
    mean = np.exp(mean_softmax(seen, hidden_logits))
    square = np.exp(mean_softmax(seen, hidden_logits, power=2))
    return mean, np.maximum(square - mean**2, 0.0) / (drawn - 1)


def _log(p: FloatArray) -> FloatArray:
    """Logarithm, finite also where a probability is below the smallest float64."""
    return np.asarray(np.log(np.maximum(p, np.finfo(np.float64).tiny)))
