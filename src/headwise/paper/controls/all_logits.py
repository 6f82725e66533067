"""Control: the law's own logits grow from nothing; every head looks at all positions alike."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.paper.controls.contexts import Contexts
from headwise.paper.controls.imagined import Moment, even, imagined, progress
from headwise.paper.controls.without_stages import grown_logits


def all_logits(contexts: Contexts, heads: int) -> xr.Dataset:
    """Everything is learned at once, by all heads alike."""
    h = contexts.task.config.h
    attention = np.stack([even(contexts)] * heads)
    return imagined(
        contexts,
        [Moment(grown_logits(contexts, c), attention, np.full((heads, h), c / heads)) for c in progress()],
    )
