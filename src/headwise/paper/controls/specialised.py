"""Controls: heads that are on their own groups from the first step, which learn at once or one after the other."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.paper.controls.contexts import Contexts
from headwise.paper.controls.imagined import Moment, imagined, on_group, progress
from headwise.paper.controls.staged import Script, passing
from headwise.paper.controls.without_stages import grown_logits

FOCUS = 0.9


def _attention(contexts: Contexts, heads: int) -> np.ndarray:
    return np.stack([on_group(contexts, k % contexts.task.config.h, FOCUS) for k in range(heads)])


def _values(contexts: Contexts, heads: int, learned: np.ndarray) -> np.ndarray:
    h = contexts.task.config.h
    own = np.arange(heads) % h
    values = np.zeros((heads, h))
    values[np.arange(heads), own] = learned[own] / np.bincount(own, minlength=h)[own]
    return values


def specialised_at_once(contexts: Contexts, heads: int) -> xr.Dataset:
    """All values grow together."""
    h, attention = contexts.task.config.h, _attention(contexts, heads)
    return imagined(
        contexts,
        [Moment(grown_logits(contexts, c), attention, _values(contexts, heads, np.full(h, c))) for c in progress()],
    )


def specialised_in_turn(contexts: Contexts, heads: int) -> xr.Dataset:
    """Groups are learned one after the other, so the function has stages, but no head ever competes or leaves."""
    script, attention = Script(), _attention(contexts, heads)
    moments = []
    for t in progress():
        learned = script.learned(t)[: contexts.task.config.h]
        moments.append(Moment(passing(contexts, learned, script.rest), attention, _values(contexts, heads, learned)))
    return imagined(contexts, moments)
