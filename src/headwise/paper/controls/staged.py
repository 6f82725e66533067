"""A run as the paper describes it: all heads on I(1), then one leaves for I(2), then another for I(3).

Every claim has to accept such a run, or a test that rejects everything would look strict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headwise.paper.controls.contexts import Contexts
from headwise.paper.controls.imagined import Moment, even, imagined, on_group, progress
from headwise.task.chain import log_softmax
from headwise.task.features import FloatArray

FOCUS = 0.95
DIP = 0.4
"""How far the heads that stay move against a new feature, for each unit of what is half-way learned."""


@dataclass(frozen=True)
class Script:
    """When each group is learned, as shares of the run, over which width, and how many groups ever are.

    `rest` is what of each best predictor's log-probabilities a model lacks that has come to it.
    """

    at: tuple[float, ...] = (0.15, 0.45, 0.75)
    width: float = 0.02
    stages: int = 3
    rest: float = 0.01

    def learned(self, t: float) -> FloatArray:
        """How far each group is learned at time t, from 0 to 1 (exactly 0 for those that never are, and at t = 0)."""
        times = np.asarray(self.at)
        exact = 1 / (1 + np.exp(-np.clip((t - times) / self.width * np.log(9), -60, 60)))
        exact[(exact < 1e-3) | (np.arange(len(times)) >= self.stages)] = 0.0
        return np.asarray(exact)


DEFAULT = Script()


def passing(contexts: Contexts, learned: Sequence[float] | FloatArray, rest: float) -> FloatArray:
    """Log-probabilities of a model that goes from knowing nothing through the best predictors, one after the other."""
    log_q = np.zeros_like(contexts.law)
    for share, best in zip(learned, contexts.best, strict=True):
        log_q = (1 - share) * log_q + share * best
    return log_softmax((1 - rest) * log_q)


def staged(contexts: Contexts, heads: int, script: Script = DEFAULT) -> xr.Dataset:
    """Heads 2, 3, ... leave for the groups of their number; the first one stays, and so do those beyond."""
    task = contexts.task
    h = task.config.h
    moments = []
    for t in progress():
        learned = script.learned(t)[:h]
        left = np.array([learned[j] if 0 < j < h else 0.0 for j in range(heads)])
        attention = []
        for j in range(heads):
            first = (1 - learned[0]) * even(contexts) + learned[0] * on_group(contexts, 0, FOCUS)
            attention.append((1 - left[j]) * first + left[j] * on_group(contexts, j if 0 < j < h else 0, FOCUS))
        values = np.zeros((heads, h))
        values[:, 0] = learned[0] * (1 - left) / (1 - left).sum()
        for k in range(1, h):
            values[:, k] = -DIP * learned[k] * (1 - learned[k]) / max(1, heads - 1)
            if k < heads:
                values[k, k] = learned[k]
        moments.append(Moment(passing(contexts, learned, script.rest), np.stack(attention), values))
    return imagined(contexts, moments)
