"""Stages in function space, read from the distances to the best predictors b_1, ..., b_h of the first groups.

A stage i is the time in which b_i is the nearest. That alone is not enough: a model that learns everything at once is
also nearest to some b_i on its way, so it also has to come nearer to each than any run without stages does
(`controls`), and to leave it again.

A quantity that a run does not have is `None`, with the reason in words; the claim is then inconclusive for that run.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headwise.core.predictors import predictors_of_kind
from headwise.core.trajectory import attribute
from headwise.paper.limit import Limit
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    import xarray as xr

NEARER = Limit("<", 0.9)
"""Smallest distance to each b_i before the last, over the smallest that a run without stages reaches."""

LEAVES = Limit(">=", 0.5)
"""How far the distance to each b_i rises again, as a share of the way from its minimum to KL(b_i||law)."""

FALLING = 0.02
"""Share of a curve that it loses in the last tenth of a run while it is still falling."""

NEAREST_RATIO = "largest ratio of the smallest distance to a b_i before the last to that of any run without stages"
IN_STAGES = (
    f"after the first evaluation the nearest b_i goes through all groups in order; each comes {NEARER} of the "
    f"smallest distance of any run without stages; each rises by {LEAVES} of the way to the law; the last ends lowest"
)
"""Quantity and threshold of `judge_stages`."""

WITHOUT_STAGES = ("logits", "patterns")


@dataclass(frozen=True, eq=False)
class Passage:
    """Distances to b_1, ..., b_h, (step, i), and what is known of these predictors."""

    steps: np.ndarray
    curves: np.ndarray
    to_law: np.ndarray
    floors: np.ndarray

    @property
    def groups(self) -> int:
        """How many predictors there are."""
        return int(self.curves.shape[1])

    @property
    def nearest(self) -> np.ndarray:
        """The number of the nearest predictor after the first evaluation, counted from 1."""
        return np.asarray(self.curves[1:].argmin(1) + 1)

    @property
    def lowest(self) -> np.ndarray:
        """The smallest distance to each."""
        return np.asarray(self.curves.min(0))

    @property
    def ratios(self) -> np.ndarray:
        """Smallest distances over those of runs without stages, for all but the last."""
        return np.asarray(self.lowest[:-1] / self.floors[:-1])

    @property
    def rises(self) -> np.ndarray:
        """How much of the way from the nearest point to the law each curve but the last has risen at the end."""
        way = np.maximum(self.to_law[:-1] - self.lowest[:-1], 1e-12)
        return np.asarray((self.curves[-1, :-1] - self.lowest[:-1]) / way)

    @property
    def ordered(self) -> bool:
        """Whether every predictor is the nearest at some time, first and last times both in order."""
        seen = [np.flatnonzero(self.nearest == i) for i in range(1, self.groups + 1)]
        if any(len(times) == 0 for times in seen):
            return False
        return all(a[0] < b[0] and a[-1] < b[-1] for a, b in itertools.pairwise(seen))

    @property
    def ends_lowest(self) -> bool:
        """Whether the last predictor is the nearest at the end."""
        return bool(self.curves[-1].argmin() == self.groups - 1)

    def reached(self, i: int) -> bool:
        """Whether b_i was nearest at some time, nearer than any run without stages comes."""
        near = i == self.groups or NEARER.holds(float(self.ratios[i - 1]))
        return bool((self.nearest == i).any() and near)

    def begins(self, i: int) -> float | None:
        """The first step at which b_i, or one after it, is the nearest."""
        at = np.flatnonzero(self.nearest >= i)
        return float(self.steps[1 + at[0]]) if len(at) else None

    @property
    def note(self) -> str:
        """One line for a person."""
        at = self.steps[self.curves.argmin(0)]
        parts = [
            f"b_{i + 1} nearest at step {at[i]:g} ({self.lowest[i]:.2f} nats"
            + (
                f", {self.ratios[i]:.2f} of a run without stages, rises by {self.rises[i]:.2f}"
                if i < len(at) - 1
                else ""
            )
            + f", {self.curves[-1, i]:.2f} at the end)"
            for i in range(self.groups)
        ]
        path = [int(i) for k, i in enumerate(self.nearest) if k == 0 or i != self.nearest[k - 1]]
        return f"nearest in turn: {', '.join(map(str, path[:12]))}; {'; '.join(parts)}"


def passage(trajectory: xr.Dataset) -> Passage | str:
    """The run's way past the best predictors, or why it cannot be read."""
    if "kl" not in trajectory:
        return "the distances to predictors were not recorded"
    names = predictors_of_kind(trajectory["predictor"].values, "bayes")
    groups = len(attribute(trajectory, "groups") or ())
    if len(names) < 2 or len(names) != groups:
        return "the run was not compared with the best predictors of the first groups (measure.bayes)"
    about = attribute(trajectory, "bayes") or {}
    unconverged = [name for name in names if not about.get(name, {}).get("converged", False)]
    if unconverged:
        return f"the fit of {unconverged[0]} did not converge: the best predictor is not known well enough"
    known = attribute(trajectory, "best_predictors")
    if known is None:
        return "how near a run without stages comes to the best predictors is not known"
    curves = trajectory["kl"].sel(predictor=names).values
    if not np.isfinite(curves).all():
        return "the distances to predictors are not finite"
    return Passage(
        trajectory["step"].values.astype(float),
        curves,
        np.array([known[name]["to_law"] for name in names]),
        np.array([min(known[name][way] for way in WITHOUT_STAGES) for name in names]),
    )


def judge_stages(trajectory: xr.Dataset) -> Judgement:
    """The stages of one run; a last stage that has begun and is not over is inconclusive.

    Measured is the largest ratio to a run without stages: how clearly the run passes by the predictors in between.
    """
    seen = passage(trajectory)
    if isinstance(seen, str):
        return Judgement(None, None, seen)
    worst = float(seen.ratios.max())
    passed = (
        seen.ordered
        and seen.ends_lowest
        and all(NEARER.holds(float(ratio)) for ratio in seen.ratios)
        and all(LEAVES.holds(float(rise)) for rise in seen.rises)
    )
    if not passed and _unfinished(seen):
        return Judgement(None, worst, f"the last stage is not over: {seen.note}")
    return Judgement(passed, worst, seen.note)


def _unfinished(seen: Passage) -> bool:
    """Whether all stages but the last were passed in order and the run still moves towards the law when it ends."""
    before = seen.nearest[seen.nearest < seen.groups]
    if not all(seen.reached(i) for i in range(1, seen.groups)) or (np.diff(before) < 0).any():
        return False
    return still_falling(seen.curves[:, -1]) and not (seen.ends_lowest and _left(seen))


def _left(seen: Passage) -> bool:
    return all(LEAVES.holds(float(rise)) for rise in seen.rises)


def still_falling(curve: np.ndarray) -> bool:
    """Whether a curve loses a noticeable share of its value in the last tenth of the run."""
    tail = max(2, len(curve) // 10)
    begin, end = float(np.median(curve[-tail - 1 : -tail + 1])), float(curve[-1])
    return (begin - end) / max(abs(begin), 1e-12) > FALLING


def first_stage_share(seen: Passage) -> float | None:
    """Time in which b_1 is the nearest, as a share of the time until the last one is."""
    second, last = seen.begins(2), seen.begins(seen.groups)
    if second is None or last is None:
        return None
    start = float(seen.steps[0])
    return (second - start) / (last - start)
