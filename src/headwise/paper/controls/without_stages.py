"""How near a model comes to the best predictors of the first groups without learning in stages.

Two ways to learn everything at once: the law's own logits growing from nothing, and all attention patterns sharpening
together. The distance to a prefix predictor dips and rises on both, so a dip alone shows no stage; a run that learns in
stages comes nearer than either.
"""

from __future__ import annotations

import functools

import numpy as np

from headwise.paper.controls.contexts import Contexts, divergence
from headwise.task.chain import log_softmax
from headwise.task.features import FloatArray

FINE = np.linspace(0.0, 1.0, 81)
"""Progress of a run without stages; finer than any trajectory made from it."""

VALUES_FIRST = 4.0
"""Where patterns sharpen together, values are complete after this fraction (one over it) of the run."""


def grown_logits(contexts: Contexts, share: float) -> FloatArray:
    """Log-probabilities when the law's logits have grown to a share of their size."""
    return log_softmax(share * contexts.law)


def sharpened(contexts: Contexts, share: float) -> FloatArray:
    """Log-probabilities when every head's attention is a share of its pattern and the rest spread over the lags."""
    task = contexts.task
    sums = task.weights.sum(1, keepdims=True)
    weights = share * task.weights + (1 - share) * sums / task.config.w
    return log_softmax(min(1.0, VALUES_FIRST * share) * contexts.logits(weights))


@functools.lru_cache(maxsize=256)
def about_predictors(contexts: Contexts) -> dict[str, dict[str, float]]:
    """Of each best predictor: its distance to the law, its excess loss, and how near a run without stages comes."""
    ways = {
        "logits": [grown_logits(contexts, share) for share in FINE],
        "patterns": [sharpened(contexts, share) for share in FINE],
    }
    return {
        f"bayes_{i}": {
            "to_law": divergence(best, contexts.law),
            "excess_loss": divergence(contexts.law, best),
            **{way: min(divergence(best, log_q) for log_q in passed) for way, passed in ways.items()},
        }
        for i, best in enumerate(contexts.best, start=1)
    }
