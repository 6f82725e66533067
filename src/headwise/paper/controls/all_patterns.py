"""Control: every head sharpens towards its own group, all at the same time."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.paper.controls.contexts import Contexts
from headwise.paper.controls.imagined import Moment, imagined, on_group, progress
from headwise.paper.controls.without_stages import VALUES_FIRST, sharpened


def all_patterns(contexts: Contexts, heads: int) -> xr.Dataset:
    """Heads end specialised, but no group is learned before another and no head was ever on another's."""
    h = contexts.task.config.h
    own = np.arange(heads) % h
    moments = []
    for s in progress():
        attention = np.stack([on_group(contexts, int(k), s) for k in own])
        values = np.zeros((heads, h))
        values[np.arange(heads), own] = min(1.0, VALUES_FIRST * s) / np.bincount(own, minlength=h)[own]
        moments.append(Moment(sharpened(contexts, s), attention, values))
    return imagined(contexts, moments)
