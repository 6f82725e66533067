"""A trajectory put together by hand from what its model predicts and where its heads look at each step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from headwise.core.trajectory import assemble, attention_by_group, head_overlap
from headwise.paper.controls.contexts import Contexts, distances, divergence
from headwise.paper.controls.restricted import restricted
from headwise.paper.controls.without_stages import about_predictors
from headwise.task.features import FloatArray

STEPS = 61
EVERY = 10
ELSEWHERE = 6
"""Positions beyond the furthest lag of the task, which uniform attention also reaches."""


@dataclass(frozen=True)
class Moment:
    """The model at one step: log-probabilities (N, d), attention (head, lag), coefficients of values (head, group)."""

    log_q: FloatArray
    attention: FloatArray
    values: FloatArray


def progress() -> FloatArray:
    """From 0 to 1 over the run, one number for each evaluation."""
    return np.linspace(0.0, 1.0, STEPS)


def imagined(contexts: Contexts, moments: Sequence[Moment]) -> xr.Dataset:
    """The complete trajectory: distances to all predictors, loss, attention and values."""
    task = contexts.task
    attention = np.stack([moment.attention for moment in moments])[:, None]
    values = np.stack([moment.values for moment in moments])[:, None]
    lags = list(range(1, task.config.w + ELSEWHERE + 1))
    windows = restricted(contexts)
    apart = [
        {**distances(contexts, moment.log_q), **{name: divergence(one, moment.log_q) for name, one in windows.items()}}
        for moment in moments
    ]
    names = list(apart[0])
    kl = np.array([[one[name] for name in names] for one in apart])
    excess = np.array([divergence(contexts.law, moment.log_q) for moment in moments])
    least = -float((np.exp(contexts.law) * contexts.law).sum(-1).mean())
    sizes = np.linalg.norm(values, axis=-1, keepdims=True)
    return assemble(
        {
            "excess_loss": excess,
            "loss": np.stack([excess + least] * 2, axis=1),
            "kl": kl,
            "attention_by_lag": attention,
            "attention_by_group": attention_by_group(attention, lags, task.lags),
            "value_coefficient": values,
            "value_alignment": values,
            "value_cosine": np.divide(values, sizes, out=np.zeros_like(values), where=sizes > 0),
            "head_overlap": head_overlap(attention),
        },
        {
            "step": EVERY * np.arange(len(moments)),
            "predictor": names,
            "lag": lags,
            "split": ["train", "test"],
        },
        {
            "source": "imagined",
            "groups": [list(group) for group in task.lags],
            "alpha": [list(weights) for weights in task.alpha],
            "teacher_loss": least,
            "bayes": {f"bayes_{i + 1}": {"method": "exact", "converged": True} for i in range(task.config.h)},
            "best_predictors": about_predictors(contexts),
        },
    )


def even(contexts: Contexts) -> FloatArray:
    """Attention of one head spread evenly over all positions."""
    count = contexts.task.config.w + ELSEWHERE
    return np.full(count, 1.0 / count)


def on_group(contexts: Contexts, k: int, focus: float) -> FloatArray:
    """Attention of one head with a share `focus` on group k (from 0) by its weights, the rest spread evenly."""
    weights = np.zeros(contexts.task.config.w + ELSEWHERE)
    weights[: contexts.task.config.w] = contexts.task.weights[k]
    return np.asarray(focus * weights / weights.sum() + (1 - focus) * even(contexts))
