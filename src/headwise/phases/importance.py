"""Which heads a model needs: what a report reads from head importance, where it was measured.

All is read from the rises of the loss themselves and compared with their own errors over sequences. A head is needed
where the rise is above three of these and at least a twentieth of the largest one. Since when: from the first measured
look from which on the rise is never again below half of what it is at the last one. A head was needed once where two
measured looks in a row say so and the last one has less than a quarter left. Two heads stand in for each other where
the loss rises at least twice as much without both as the rises without each together, by more than four errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from headwise.core.head_counts import head_counts
from headwise.phases.rises import Interval
from headwise.phases.undecided import Undecided

ERRORS, PAIR_ERRORS = 3.0, 4.0
"""Standard errors above which a rise is no accident of the batch; there are more pairs than heads."""
WORTH_A_WORD = 0.05
"""Share of the largest rise below which a head is not said to be needed."""
LEFT = 0.25
"""Share of its largest rise that a head has at most once it is no longer needed."""
CANNOT = "importance: it cannot be measured: "
"""How the note of a watch begins that was asked for importance and cannot measure it."""


@dataclass(frozen=True)
class NeededHead:
    """The rise of the loss without one head at the last measured look, its error, and since when it is half as much."""

    block: int
    head: int
    rise: float
    error: float
    zero: float
    since: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class OnceNeeded:
    """A head that was needed most at some step and is not any more."""

    block: int
    head: int
    step: float
    rise: float
    left: float


@dataclass(frozen=True)
class StandIns:
    """Two heads of a block: the rise without both, without each, and the error of the difference."""

    block: int
    heads: tuple[int, int]
    both: float
    alone: tuple[float, float]
    error: float


@dataclass(frozen=True)
class Importance:
    """What was measured at the last measured look: every head, most important first, and what follows from it."""

    step: float
    looks: int
    heads: tuple[NeededHead, ...]
    needed: int
    """How many of these are needed."""
    once: tuple[OnceNeeded, ...] = ()
    stand_ins: tuple[StandIns, ...] = ()
    several_blocks: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain values; `heads` in order of importance, the first `needed` of them are needed."""
        return {
            "step": self.step,
            "looks": self.looks,
            "needed": self.needed,
            "heads": [
                {
                    "block": one.block,
                    "head": one.head,
                    "rise": one.rise,
                    "error": None if np.isnan(one.error) else one.error,
                    "zero": one.zero,
                    "since": one.since,
                    "interval": None if one.interval is None else list(one.interval),
                }
                for one in self.heads
            ],
            "once_needed": [
                {"block": one.block, "head": one.head, "step": one.step, "rise": one.rise, "left": one.left}
                for one in self.once
            ],
            "stand_ins": [
                {
                    "block": pair.block,
                    "heads": list(pair.heads),
                    "both": pair.both,
                    "alone": list(pair.alone),
                    "error": pair.error,
                }
                for pair in self.stand_ins
            ],
        }


def read_importance(trajectory: xr.Dataset) -> Importance | None:
    """What the looks that measured importance say; `None` where none did."""
    if "head_importance" not in trajectory:
        return None
    measured = trajectory[[name for name in trajectory.data_vars if str(name).startswith(("head_imp", "pair_red"))]]
    rise = measured["head_importance"].transpose("step", "block", "head").values
    there = np.arange(rise.shape[2]) < np.array(head_counts(trajectory))[:, None]
    finite = np.isfinite(rise[:, there]).all(1) & there.any()
    if not finite.any():
        return None
    measured = measured.isel(step=np.flatnonzero(finite))
    steps = measured["step"].values.astype(float)
    rise = np.where(there, rise[finite], -np.inf)
    error = measured["head_importance_error"].transpose("step", "block", "head").values
    zero = measured["head_importance_zero"].transpose("step", "block", "head").values[-1]
    sure = (rise > ERRORS * error) & (rise > 0)
    needed = sure[-1] & (rise[-1] >= WORTH_A_WORD * rise[-1].max())
    places = [place for place in np.ndindex(*needed.shape) if there[place]]
    order = sorted(places, key=lambda place: (not needed[place], -rise[-1][place]))
    return Importance(
        step=float(steps[-1]),
        looks=len(steps),
        heads=tuple(_head(place, steps, rise, error[-1], zero, needed=bool(needed[place])) for place in order),
        needed=int(needed.sum()),
        once=tuple(_once(steps, rise, sure)),
        stand_ins=tuple(_stand_ins(measured.isel(step=-1))),
        several_blocks=needed.shape[0] > 1,
    )


def open_importance(notes: Sequence[str]) -> tuple[Undecided, ...]:
    """Why a watch that was asked for importance has none, if it noted a reason."""
    reasons = [note.removeprefix(CANNOT) for note in notes if note.startswith(CANNOT)]
    return tuple(Undecided("which heads the model needs", reason) for reason in reasons)


def _head(
    place: tuple[int, ...], steps: np.ndarray, rise: np.ndarray, error: np.ndarray, zero: np.ndarray, *, needed: bool
) -> NeededHead:
    block, head = place
    own = rise[:, block, head]
    since: float | None = None
    interval: Interval | None = None
    if needed and len(steps) > 1:
        below = np.flatnonzero(own < own[-1] / 2)
        first = int(below[-1]) + 1 if len(below) else 0
        since = float(steps[first])
        interval = (float(steps[max(first - 1, 0)]), since)
    return NeededHead(
        block + 1, head + 1, float(own[-1]), float(error[place]), float(zero[place]), since=since, interval=interval
    )


def _once(steps: np.ndarray, rise: np.ndarray, sure: np.ndarray) -> list[OnceNeeded]:
    """Heads whose importance is gone; what was never much of the largest rise at that look does not count."""
    worth = sure & (rise >= 2 * WORTH_A_WORD * rise.max((1, 2), keepdims=True))
    twice = worth[1:] & worth[:-1]
    found = []
    for block, head in np.ndindex(*rise.shape[1:]):
        own = rise[:, block, head]
        looks = np.flatnonzero(twice[:, block, head])
        if not len(looks):
            continue
        at = max({int(i) for look in looks for i in (look, look + 1)}, key=lambda i: float(own[i]))
        if own[-1] < LEFT * own[at]:
            found.append(OnceNeeded(block + 1, head + 1, float(steps[at]), float(own[at]), float(own[-1])))
    return sorted(found, key=lambda one: -one.rise)


def _stand_ins(last: xr.Dataset) -> list[StandIns]:
    if "pair_redundancy" not in last:
        return []
    more = last["pair_redundancy"].transpose("block", "head", "head2").values
    error = last["pair_redundancy_error"].transpose("block", "head", "head2").values
    rise = last["head_importance"].transpose("block", "head").values
    largest = float(np.nanmax(rise))
    found = []
    for block, a, b in np.ndindex(*more.shape):
        if a >= b:
            continue
        alone = (float(rise[block, a]), float(rise[block, b]))
        both = float(more[block, a, b]) + sum(alone)
        far = min(float(more[block, a, b]), both) > PAIR_ERRORS * float(error[block, a, b])
        if far and both >= 2 * sum(max(one, 0.0) for one in alone) and both >= WORTH_A_WORD * largest:
            found.append(StandIns(block + 1, (a + 1, b + 1), both, alone, float(error[block, a, b])))
    return sorted(found, key=lambda pair: -pair.both)
