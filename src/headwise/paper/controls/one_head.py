"""Control: one head learns everything while the others never look anywhere in particular."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.paper.controls.contexts import Contexts
from headwise.paper.controls.imagined import Moment, even, imagined, progress
from headwise.paper.controls.without_stages import grown_logits


def one_head(contexts: Contexts, heads: int) -> xr.Dataset:
    """The first head's attention gathers on all lags of the task; values of the others stay zero."""
    task = contexts.task
    relevant = np.zeros_like(even(contexts))
    relevant[: task.config.w] = task.weights.sum(0) / task.weights.sum()
    moments = []
    for c in progress():
        attention = np.stack([even(contexts)] * heads)
        attention[0] = c * relevant + (1 - c) * even(contexts)
        values = np.zeros((heads, task.config.h))
        values[0] = c
        moments.append(Moment(grown_logits(contexts, c), attention, values))
    return imagined(contexts, moments)
