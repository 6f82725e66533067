"""Competition and departures, read from where the heads look.

Shares are of a head's attention, groups and heads count from 1. A head is on a group when its share there is at least
`ON` times that on every other group; overlapping groups share lags, so a head wholly on one has half on its neighbour.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headwise.paper.limit import Limit
from headwise.paper.quantities import group_shares
from headwise.paper.stages import Passage, passage
from headwise.paper.verdict import Judgement

if TYPE_CHECKING:
    import xarray as xr

ON = Limit(">=", 1.5)
"""Share on a group over the largest share on another one from which a head counts as being on that group."""

MOVES = Limit(">=", 0.25)
"""Rise of a head's share on a group, from competition to its largest, from which it has moved there."""

APART = Limit(">", 1.0)
"""Time between two departures over the longer of the times that they take themselves."""

MOST = Limit(">", 0.667)
HALF = Limit(">", 0.5)
"""Share of a head on its own group at the end, and what is enough while it still rises."""

SPECIALISED = (
    f"largest groups all different, each share {MOST} (or {HALF} and rising), "
    "and each head's largest value coefficient on the same group"
)
ON_FIRST = "smallest over heads of the share on I(1) over the largest other share, when b_1 is nearest"
COMPETE = f"{ON} for every head when the distance to b_1 is smallest, and none has left before"
ONE_AT_A_TIME = "time between neighbouring departures over the longer of their widths (25 to 75 %), smallest"
IN_TURN = (
    f"all heads on I(1) first; then for every other group in order of importance another head whose share there rises "
    f"by {MOVES}; and the times between departures {APART} times the width of each"
)


@dataclass(frozen=True)
class Departure:
    """A head that goes to a group: when it is a quarter, half and three quarters there (steps)."""

    head: int
    group: int
    quarter: float
    half: float
    three_quarters: float

    @property
    def width(self) -> float:
        """Steps from a quarter to three quarters."""
        return self.three_quarters - self.quarter

    def __str__(self) -> str:
        return f"head {self.head} to I({self.group}) at {self.half:.0f} (takes {self.width:.0f})"


def lead(shares: np.ndarray, group: int) -> np.ndarray:
    """Share of each head on a group (from 0) over its largest share on another; shares are (..., head, group)."""
    others = np.delete(shares, group, axis=-1).max(-1)
    return np.asarray(shares[..., group] / np.maximum(others, 1e-12))


def competition_at(seen: Passage) -> int:
    """The evaluation at which the distance to b_1 is smallest."""
    return int(seen.curves[:, 0].argmin())


def judge_competition(trajectory: xr.Dataset) -> Judgement:
    """When the run is nearest to b_1, I(1) leads in every head, and it did not lose one before; measured: the lead."""
    seen = passage(trajectory)
    if isinstance(seen, str):
        return Judgement(None, None, seen)
    at = competition_at(seen)
    leads = lead(group_shares(trajectory), 0)
    weakest = float(leads[at].min())
    on = np.array([[ON.holds(float(value)) for value in row] for row in leads[: at + 1]])
    lost = (on[:-1] & ~on[1:]).any(0)
    note = f"at step {seen.steps[at]:g} I(1) leads by " + ", ".join(f"{value:.2f}" for value in leads[at])
    if lost.any():
        note += f"; head {int(lost.argmax()) + 1} had left it before"
    return Judgement(bool(on[-1].all() and not lost.any()), weakest, note)


def departures(trajectory: xr.Dataset, seen: Passage) -> list[Departure]:
    """For each group but the first, the head that ends with the largest share there, if it moves there at all."""
    start = competition_at(seen)
    shares = group_shares(trajectory)[start:]
    steps = seen.steps[start:]
    found = []
    for group in range(1, shares.shape[-1]):
        head = int(shares[-1, :, group].argmax())
        curve = shares[:, head, group]
        rise = float(curve.max() - curve[0])
        if MOVES.holds(rise):
            times = [first_above(steps, curve, float(curve[0]) + part * rise) for part in (0.25, 0.5, 0.75)]
            found.append(Departure(head + 1, group + 1, *times))
    return found


def judge_departures(trajectory: xr.Dataset, groups: int | None = None) -> Judgement:
    """Heads leave I(1) one at a time, for the groups in order; `groups`: how many of them the claim is about."""
    competition = judge_competition(trajectory)
    seen = passage(trajectory)
    if isinstance(seen, str):
        return Judgement(None, None, seen)
    wanted = list(range(2, (groups or seen.groups) + 1))
    found = [one for one in departures(trajectory, seen) if one.group in wanted]
    note = "; ".join(str(one) for one in found) or "no head leaves"
    if not competition.passed:
        return Judgement(False, None, f"not all heads were on I(1): {competition.note}; {note}")
    missing = [group for group in wanted if group not in [one.group for one in found]]
    if missing:
        rising = still_rising(group_shares(trajectory)[:, :, missing[0] - 1].max(1))
        return Judgement(None if rising else False, None, f"nobody is on I({missing[0]}) yet: {note}")
    different = len({one.head for one in found}) == len(found)
    if len(found) == 1:
        return Judgement(True, None, note)
    ratios = [
        (later.half - earlier.half) / max(earlier.width, later.width, 1e-12)
        for earlier, later in itertools.pairwise(found)
    ]
    return Judgement(different and APART.holds(min(ratios)), min(ratios), f"{note}; apart by {min(ratios):.2f} widths")


def judge_heads(trajectory: xr.Dataset, groups: int | None = None) -> Judgement:
    """Competition and then departures one at a time: the competitive-to-cooperative transition of one run."""
    competition, leaving = judge_competition(trajectory), judge_departures(trajectory, groups)
    note = f"{competition.note}; {leaving.note}"
    if competition.passed is None or (competition.passed and leaving.passed is None):
        return Judgement(None, leaving.measured, note)
    return Judgement(bool(competition.passed and leaving.passed), leaving.measured, note)


def judge_specialisation(trajectory: xr.Dataset) -> Judgement:
    """At the end every head is mostly on a group of its own, or still moving there, with that group's feature.

    Measured: the smallest share of a head on its own group.
    """
    history = group_shares(trajectory)
    shares = history[-1]
    largest, own = shares.argmax(1), shares.max(1)
    values = trajectory["value_coefficient"].isel(step=-1).transpose("block", "head", "group").values
    features = np.abs(values.reshape(-1, values.shape[-1])).argmax(1)
    lines, holds = [], True
    for head, group in enumerate(largest):
        rising = still_rising(history[:, head, group])
        enough = MOST.holds(float(own[head])) or (rising and HALF.holds(float(own[head])))
        holds = holds and enough and bool(features[head] == group)
        moving = ", rising" if rising else ""
        lines.append(f"head {head + 1} on I({group + 1}) {own[head]:.2f}{moving}, feature {features[head] + 1}")
    covered = len(set(largest.tolist())) == min(shares.shape)
    return Judgement(bool(covered and holds), float(own.min()), "; ".join(lines))


def first_above(steps: np.ndarray, curve: np.ndarray, level: float) -> float:
    """The first time a curve is at a level, by linear interpolation; the last step if it never is."""
    above = np.flatnonzero(curve >= level)
    if not len(above):
        return float(steps[-1])
    i = int(above[0])
    if i == 0:
        return float(steps[0])
    share = (level - curve[i - 1]) / (curve[i] - curve[i - 1])
    return float(steps[i - 1] + share * (steps[i] - steps[i - 1]))


def still_rising(curve: np.ndarray, by: float = 0.02) -> bool:
    """Whether a share grows by more than `by` in the last tenth of the run."""
    tail = max(2, len(curve) // 10)
    return bool(curve[-1] - curve[-tail - 1] > by)
