"""What a report cannot see, said in it: too few looks, looks too far apart, contexts too short."""

from __future__ import annotations

import numpy as np
import xarray as xr

from headwise.phases.config import Thresholds
from headwise.phases.sources import HeadSource

FEW_LOOKS = 20
"""Below this many looks an event between two of them is easily missed."""
WIDE = 0.1
"""Share of the run between two looks in which whatever begins and ends is not seen."""
SHORT = 8
"""Tokens that a query must be able to see before its attention to copies and lags tells much."""


def blind_spots(trajectory: xr.Dataset, source: HeadSource | str, thresholds: Thresholds) -> list[str]:
    """One sentence for each thing that these looks cannot show."""
    steps = trajectory["step"].values.astype(float)
    notes = []
    if thresholds.evaluations <= len(steps) < FEW_LOOKS:
        notes.append(f"looks: with {len(steps)} of them a change that ends before the next look is not seen")
    if len(steps) > 1:
        gaps = np.diff(steps)
        widest = int(np.argmax(gaps))
        if gaps[widest] > WIDE * (steps[-1] - steps[0]) and len(steps) >= thresholds.evaluations:
            where = f"between {steps[widest]:.4g} and {steps[widest + 1]:.4g}"
            notes.append(f"looks: nobody looked {where}; what began and ended there is not seen")
    if short_context(source):
        notes.append("heads: contexts are short; what heads do with longer ones, induction above all, is not seen")
    return notes


def short_context(source: HeadSource | str) -> bool:
    """Whether no query sees as many tokens as it takes."""
    if isinstance(source, str) or source.chance is None:
        return False
    return int((source.chance[-1] > 0).sum(axis=-1).max()) < SHORT
