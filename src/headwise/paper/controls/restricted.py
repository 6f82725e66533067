"""Models of restricted context, as well trained as can be: the best predictor that sees only the last k tokens."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from headwise.core.seeds import Stream, generator
from headwise.paper.controls.contexts import Contexts
from headwise.task.bayes_exact import mean_softmax
from headwise.task.features import FloatArray

HIDDEN = 2000
"""Draws of the tokens that such a model does not see."""


def restricted(contexts: Contexts) -> Mapping[str, FloatArray]:
    """Log-probabilities (N, d) by name, for contexts that end where the first i groups do; the longest is the law.

    Tokens further back are averaged over as uniform ones, which `uniform_contexts` are made of.
    """
    task = contexts.task
    rng = generator(0, Stream.BAYES, 2_000_002)
    other = rng.integers(task.config.d, size=(HIDDEN, task.config.w))
    sizes = sorted({max(lag for group in task.lags[:i] for lag in group) for i in range(1, task.config.h + 1)})
    found = {}
    for size in sizes:
        seen = sum(task.lag_tables[lag][contexts.tokens[:, lag]] for lag in range(size))
        rest = sum((task.lag_tables[lag][other[:, lag]] for lag in range(size, task.config.w)), np.zeros((1, 1)))
        whole = size == task.config.w
        found[f"window_{size}"] = contexts.law if whole else mean_softmax(np.asarray(seen), np.asarray(rest))
    return found
