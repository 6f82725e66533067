"""The loss view: plateaus and drops of the excess loss (§2.3, Fig. ablations).

A stage is a plateau. The score of a stage is its flatness, the share of it that lies in the plateau's band. Nothing is
assumed about predictors, heads or groups, and the number of stages is found, not given. Scaling the excess loss moves
nothing. A plateau at the value of the first evaluation is labelled as the initial one: nothing has been learned yet.
"""

from __future__ import annotations

import numpy as np

from headwise.phases.config import Thresholds
from headwise.phases.plateaus import Plateau, find_plateaus
from headwise.phases.series import finite_series
from headwise.phases.views import Stage, View, unreadable

INITIAL = "initial plateau"


def read_loss(steps: np.ndarray, excess: np.ndarray, thresholds: Thresholds) -> View:
    """Stages of an excess loss (or of any loss minus its lower bound) over steps."""
    series, lost = finite_series(steps, excess)
    notes = [f"loss: {len(lost)} evaluations are not finite and were left out"] if len(lost) else []
    if len(series.steps) < thresholds.evaluations:
        return unreadable(
            f"loss: {len(series.steps)} finite evaluations are too few for stages; "
            f"evaluate at least {thresholds.evaluations} times"
        )
    plateaus = find_plateaus(series, thresholds)
    first = float(series.values[0, 0])
    stages = tuple(
        Stage(plateau.start, plateau.end, _label(plateau, i, first, plateaus, thresholds), plateau.flatness)
        for i, plateau in enumerate(plateaus)
    )
    return View(stages, tuple(notes))


def _label(plateau: Plateau, i: int, first: float, plateaus: list[Plateau], thresholds: Thresholds) -> str:
    level = float(plateau.level[0])
    if i == 0 and len(plateaus) > 1:
        drop = abs(level - float(plateaus[1].level[0]))
        if abs(first - level) <= thresholds.band * drop:
            return f"{INITIAL} at {level:.3g}"
    return f"plateau at {level:.3g}"
