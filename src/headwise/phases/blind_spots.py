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
SHORT = 0.25
"""Chance of a query's own token from which contexts are short: it sees about four tokens."""


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
    if not isinstance(source, str) and source.chance is not None and 1 in source.lags:
        own = float(source.chance[-1, source.lags.index(1)])
        if own >= SHORT:
            notes.append(
                f"heads: contexts are short (even attention gives the own token {own:.2f}); what a head does with "
                "longer ones is not seen"
            )
    return notes
