"""Roles that heads take up and lose: a lag, the first token, induction, whatever the trajectory scores.

A role is a score above chance over time. A head has it while the score stays above `acquired`, with the hysteresis and
the shortest times of `heads`. Lags are read from attention by lag and its chance; everything else from `role_score`.

Many heads, roles and looks give many chances to be wrong. Two things keep the statements of a whole report few:
`acquired` lies far above what drifting heads reach, and a score must stand above chance by as many standard errors as
the number of scores in the report asks for. Folds of the batch vote where they were recorded. What fails is undecided,
not silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
import xarray as xr

from headwise.core.head_counts import head_counts
from headwise.phases.blind_spots import short_context
from headwise.phases.chance import excess_share
from headwise.phases.config import Thresholds
from headwise.phases.heads import Hold, find_holds, spike_window
from headwise.phases.rises import Interval
from headwise.phases.role_names import NOT_EVENTS, lag_of, role_of_lag
from headwise.phases.series import Series, without_spikes
from headwise.phases.sources import HeadSource
from headwise.phases.undecided import Undecided

OF_COPIES = ("induction", "duplicate")
"""Roles that ask for earlier copies of a token."""
BEYOND_DRIFT = 0.5
"""Score from which a role is no drift even where the loss does not move."""


@dataclass(frozen=True)
class RoleEvent:
    """Head `head` of block `block` has a role from `start` to `end`; `interval` is the time in which it took it up.

    `score` is how far above `chance` it goes at its height, as a part of what there is above chance.
    """

    block: int
    head: int
    role: str
    start: float
    end: float
    score: float
    chance: float
    interval: Interval


@dataclass(frozen=True)
class _Curves:
    """Scores (step, block, head, role) of some roles, with what is known about their noise."""

    steps: np.ndarray
    names: tuple[str, ...]
    scores: np.ndarray
    chance: np.ndarray
    error: np.ndarray | None = None
    folds: np.ndarray | None = None


def find_roles(
    source: HeadSource | str, trajectory: xr.Dataset, thresholds: Thresholds, *, loss_moves: bool | None
) -> tuple[tuple[RoleEvent, ...], tuple[Undecided, ...]]:
    """All roles in time order, and those that cannot be decided."""
    tables = [table for table in (_lag_scores(source), _named_scores(trajectory, source)) if table is not None]
    own = thresholds_of_roles(thresholds)
    tested = sum(_tested(table, head_counts(trajectory)) for table in tables)
    sure: list[RoleEvent] = []
    open_: list[Undecided] = []
    for table in tables:
        if len(table.steps) < thresholds.evaluations:
            continue
        for event, hold, place in _events(table, own):
            reason = _doubt(table, hold, place, thresholds, tested=tested)
            if reason is None and event.role in OF_COPIES and short_context(source):
                reason = "contexts are too short for copies of a token to tell"
            if reason is None and loss_moves is False and event.score < BEYOND_DRIFT:
                reason = "the loss does not move, so this may be drift"
            if reason is None:
                sure.append(event)
            else:
                open_.append(Undecided(event.role, reason, event.block, event.head, event.start))
    kept = [event for event in sure if not _explained(event, sure)]
    return tuple(sorted(kept, key=lambda e: (e.start, e.block, e.head, e.role))), tuple(open_)


def _tested(table: _Curves, heads: list[int]) -> int:
    """Scores of the heads that there are."""
    looks, _, _, roles = table.scores.shape
    return int(looks * sum(heads) * roles)


def thresholds_of_roles(thresholds: Thresholds) -> Thresholds:
    """The thresholds with those of holding a pattern set to those of having a role."""
    return thresholds.changed({"hold": thresholds.acquired, "release": thresholds.lost, "copied": thresholds.acquired})


def _lag_scores(source: HeadSource | str) -> _Curves | None:
    if isinstance(source, str) or source.attention is None or source.chance is None:
        return None
    chance = np.broadcast_to(source.chance[:, :, None], source.attention.shape)
    error = None if source.error is None else source.error / np.maximum(1 - chance, 1e-12)
    names = tuple(role_of_lag(lag) for lag in source.lags)
    return _Curves(source.steps, names, excess_share(source.attention, chance), chance, error)


def _named_scores(trajectory: xr.Dataset, source: HeadSource | str) -> _Curves | None:
    """Roles as the trajectory scores them, but for those that attention by lag tells already."""
    if "role_score" not in trajectory:
        return None
    by_lag = not isinstance(source, str) and source.attention is not None
    wanted = [
        i
        for i, role in enumerate(trajectory["role"].values)
        if str(role) not in NOT_EVENTS and not (by_lag and lag_of(str(role)) is not None)
    ]
    table = trajectory.isel(role=wanted)
    scores = np.asarray(table["role_score"].transpose("step", "block", "head", "role").values, dtype=float)
    chance, folds = np.zeros_like(scores), None
    if "role_chance" in table:
        chance = np.asarray(table["role_chance"].transpose("step", "block", "head", "role").values, dtype=float)
    if "role_fold" in table:
        folds = np.asarray(table["role_fold"].transpose("step", "fold", "block", "head", "role").values, dtype=float)
    names = tuple(str(role) for role in table["role"].values)
    return _Curves(trajectory["step"].values.astype(float), names, scores, chance, None, folds)


def _events(table: _Curves, thresholds: Thresholds) -> Iterator[tuple[RoleEvent, Hold, tuple[int, int, int]]]:
    """Every stretch in which a head has a role; `Hold` counts its looks among all looks of the table."""
    candidates = np.argwhere(np.nanmax(np.nan_to_num(table.scores, nan=-1.0), axis=0) >= thresholds.hold)
    for block, head, role in candidates.tolist():
        place = (block, head, role)
        curve = table.scores[:, block, head, role]
        seen = np.flatnonzero(np.isfinite(curve))
        if len(seen) < thresholds.evaluations:
            continue
        series = Series(table.steps[seen], curve[seen])
        smooth = without_spikes(curve[seen], spike_window(series, thresholds))
        for hold in find_holds(series, smooth, head + 1, role, thresholds):
            looks = seen[hold.first : hold.last + 1]
            chance = float(np.nanmedian(table.chance[looks, block, head, role]))
            event = RoleEvent(
                block + 1, head + 1, table.names[role], hold.start, hold.end, hold.share, chance, hold.interval
            )
            yield event, replace(hold, first=int(looks[0]), last=int(looks[-1])), place


def _doubt(
    table: _Curves, hold: Hold, place: tuple[int, int, int], thresholds: Thresholds, *, tested: int
) -> str | None:
    """Why a role is not clear, or None. Only the looks near the role's height are asked."""
    looks = np.arange(hold.first, hold.last + 1)
    scores = table.scores[(looks, *place)]
    high = looks[scores >= 0.8 * np.nanmax(scores)]
    if table.error is not None:
        limit = NormalDist().inv_cdf(1 - thresholds.false_alarm / max(tested, 1))
        if float(np.nanmedian(table.scores[(high, *place)] - limit * table.error[(high, *place)])) <= 0:
            return f"within {limit:.1f} standard errors of chance, which so many scores reach by luck"
    if table.folds is not None:
        block, head, role = place
        shown = table.folds[high][:, :, block, head, role]
        of_fold = np.array([np.mean(fold[np.isfinite(fold)]) for fold in shown.T if np.isfinite(fold).any()])
        votes = of_fold >= thresholds.acquired
        if len(votes) > 1 and votes.mean() < thresholds.vote:
            return f"only {votes.sum()} of {len(votes)} parts of the batch show it"
    return None


def _explained(event: RoleEvent, events: list[RoleEvent]) -> bool:
    """Whether a local window is one lag alone: then that lag says it better."""
    return event.role == "window" and any(
        (other.block, other.head) == (event.block, event.head)
        and lag_of(other.role) is not None
        and other.score >= event.score / 2
        and other.start <= event.end
        and event.start <= other.end
        for other in events
    )
