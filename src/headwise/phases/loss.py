"""The loss view: plateaus and drops of the loss (§2.3, Fig. ablations).

A stage is a plateau between two drops. The score of a stage is its flatness, the share of it that lies in the plateau's
band. Nothing is assumed about predictors, heads or groups, and the number of stages is found, not given. One stage is
no finding: where no drop separates two plateaus the view says that it found none, and why.

An excess loss has a known lower end, so equal ratios count equally (`plateaus`) and scaling it moves nothing. Where it
rests nowhere, as from a large start, it has no plateaus to cut it by, but it may still speed up and slow down; it is
then read like any other loss, by its drops (`drops`). A drop that comes too soon after another one, or that nothing
shows to have ended, is not called a stage: that cannot be told. A plateau at the value of the first evaluation is
labelled as the initial one.
"""

from __future__ import annotations

import itertools

import numpy as np

from headwise.phases.config import Thresholds
from headwise.phases.drops import Drop, find_drops, spikes_bridged
from headwise.phases.loss_source import LossSource
from headwise.phases.plateaus import Plateau, find_plateaus
from headwise.phases.series import Series, finite_series, noise_level
from headwise.phases.undecided import Undecided
from headwise.phases.views import Stage, View, unreadable

INITIAL = "initial plateau"


def read_loss(steps: np.ndarray, excess: np.ndarray, thresholds: Thresholds) -> View:
    """Stages of an excess loss (or of any loss minus its lower bound) over steps."""
    series, lost = finite_series(steps, excess)
    notes = (f"loss: {len(lost)} evaluations are not finite and were left out",) if len(lost) else ()
    noise = float(noise_level(series.values)[0])
    return read_loss_source(LossSource(series, noise, True, notes), thresholds)


def read_loss_source(source: LossSource, thresholds: Thresholds) -> View:
    """Stages of the loss that a trajectory offers."""
    series = source.series
    if len(series.steps) < thresholds.evaluations:
        return unreadable(
            f"loss: {len(series.steps)} finite evaluations are too few for stages; "
            f"evaluate at least {thresholds.evaluations} times"
        )
    plateaus = find_plateaus(series, thresholds) if source.excess else []
    undecided: tuple[Undecided, ...] = ()
    if len(plateaus) < 2:
        curve = Series(series.steps, series.values[:, 0])
        drops = find_drops(curve, source.noise, thresholds)
        plateaus = _plateaus(curve, [drop for drop in drops if drop.framed and drop.apart], thresholds)
        undecided = tuple(_open(drop) for drop in drops if not (drop.framed and drop.apart))
    if len(plateaus) < 2:
        reason = "it never speeds up again after a slower stretch" if source.moves else "it does not move"
        return View((), (*source.notes, f"loss: no stage found: {reason}"), undecided=undecided)
    first = float(series.values[0, 0])
    stages = tuple(
        Stage(
            plateau.start,
            plateau.end,
            _label(plateau, i, first, plateaus, thresholds),
            plateau.flatness,
            plateau.interval,
        )
        for i, plateau in enumerate(plateaus)
    )
    return View(stages, source.notes, undecided=undecided)


def _open(drop: Drop) -> Undecided:
    """Why nobody can tell whether a stage begins with this drop."""
    if not drop.framed:
        reason = f"the loss is falling fast at the end, since {drop.interval[0]:.4g}; whether it rests shows later"
    else:
        reason = "the stretch since the drop before is short; both may be one"
    return Undecided("a drop of the loss of its own", reason, step=drop.middle)


def _plateaus(series: Series, drops: list[Drop], thresholds: Thresholds) -> list[Plateau]:
    """What lies between the drops."""
    times = [series.start, *(drop.middle for drop in drops), float(series.steps[-1])]
    intervals = [(series.start, series.start), *(drop.interval for drop in drops)]
    # A drop is found without spikes, so where it begins or ends one may have been measured.
    heights = spikes_bridged(series.steps, series.values)
    sizes = [float(heights[drop.first] - heights[drop.last]) for drop in drops]
    found = []
    for i, (start, end) in enumerate(itertools.pairwise(times)):
        inside = (series.steps >= start) & (series.steps <= end)
        values = series.values[inside] if inside.any() else np.interp([(start + end) / 2], series.steps, series.values)
        level = float(np.median(values))
        beside = [sizes[j] for j in (i - 1, i) if 0 <= j < len(sizes)]
        flat = np.abs(values - level) <= thresholds.band * min(beside, default=np.inf)
        found.append(Plateau(start, end, np.array([level]), float(flat.mean()), intervals[i]))
    return found


def _label(plateau: Plateau, i: int, first: float, plateaus: list[Plateau], thresholds: Thresholds) -> str:
    level = float(plateau.level[0])
    if i == 0 and len(plateaus) > 1:
        drop = abs(level - float(plateaus[1].level[0]))
        if abs(first - level) <= thresholds.band * drop:
            return f"{INITIAL} at {level:.3g}"
    return f"plateau at {level:.3g}"
