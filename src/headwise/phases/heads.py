"""The heads view: which pattern each head copies, and when that changes (§2.3, Fig. attention).

A head *holds* a pattern while that pattern keeps a sustained share of its attention; it *copies* the pattern it took
up last. So a head has left its old pattern once it holds a new one, even if the old one still gets more: in the
regression flow a head may end with half of its attention on each. A pattern must be held for a minimum time (dwell),
and the share at which holding begins is higher than the one at which it ends, so that noise and short visits do not
count.

A stage is a stretch with the same set of patterns held by any head; its score is the mean share of attention that
heads give to the pattern they copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from headwise.core.events import Label
from headwise.phases.config import Thresholds
from headwise.phases.patterns import Pattern
from headwise.phases.rises import Interval, rise_interval
from headwise.phases.series import SPIKE_WINDOW, Series, without_spikes
from headwise.phases.views import Stage, View


@dataclass(frozen=True)
class Hold:
    """A head holds a pattern from `start` to `end` with share `share` at its height; head counts from 1.

    `interval` is the rise to it, `first` and `last` are its looks.
    """

    head: int
    pattern: int
    start: float
    end: float
    share: float
    interval: Interval
    first: int
    last: int


@dataclass(frozen=True)
class Copying:
    """A stretch in which a head copies one pattern."""

    head: int
    label: Label
    start: float
    end: float


@dataclass(frozen=True)
class HeadsView(View):
    """Stages, and behind them the shares (step, head, pattern), what each head holds and what it copies."""

    steps: np.ndarray = field(default_factory=lambda: np.zeros(0))
    shares: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    patterns: tuple[Pattern, ...] = ()
    holds: tuple[Hold, ...] = ()
    copying: tuple[Copying, ...] = ()


def read_heads(steps: np.ndarray, shares: np.ndarray, patterns: Sequence[Pattern], thresholds: Thresholds) -> HeadsView:
    """Stages from pattern shares (step, head, pattern), all finite."""
    series = Series(np.asarray(steps, dtype=float), shares)
    smooth = without_spikes(shares, spike_window(series, thresholds))
    holds = [
        hold
        for head in range(shares.shape[1])
        for pattern in range(shares.shape[2])
        for hold in find_holds(series, smooth[:, head, pattern], head + 1, pattern, thresholds)
    ]
    copying = [
        stretch
        for head in range(1, shares.shape[1] + 1)
        for stretch in _copying(series, [hold for hold in holds if hold.head == head], patterns, thresholds)
    ]
    notes = ("heads: no head holds any pattern",) if not holds else ()
    stages = _stages(series, smooth, holds, copying, patterns, thresholds)
    return HeadsView(stages, notes, bool(holds), series.steps, smooth, tuple(patterns), tuple(holds), tuple(copying))


def spike_window(series: Series, thresholds: Thresholds) -> int:
    """Evaluations in one dwell where they are sparsest, odd and at least three; half of it is smoothed away."""
    if len(series.steps) < 2 or series.length == 0:
        return SPIKE_WINDOW
    widest = float(np.max(np.diff(series.steps)))
    return max(SPIKE_WINDOW, 2 * int(thresholds.dwell * series.length / widest / 2) + 1)


def find_holds(series: Series, share: np.ndarray, head: int, pattern: int, thresholds: Thresholds) -> list[Hold]:
    """Stretches in which the share stays up: begun above `hold`, ended below `release`, sustained, and high enough."""
    if not (share >= thresholds.hold).any():
        return []
    runs: list[list[int]] = []
    for i, value in enumerate(share):
        held = bool(runs) and runs[-1][1] == i - 1
        if value >= (thresholds.release if held else thresholds.hold):
            if held:
                runs[-1][1] = i
            else:
                runs.append([i, i])
    merged: list[list[int]] = []
    for run in runs:
        gap = float(series.steps[run[0]] - series.steps[merged[-1][1]]) if merged else np.inf
        if gap < dwell_from(series, float(series.steps[run[0]]), thresholds) / 2:
            merged[-1][1] = run[1]
        else:
            merged.append(run)
    spacing = np.gradient(series.steps) if len(share) > 1 else np.ones(1)
    found = []
    for first, last in merged:
        height = share[first : last + 1]
        high = height >= thresholds.copied
        start = _passage(series.steps, share, first - 1, thresholds.hold) if first else series.start
        sustained = float(spacing[first : last + 1][high].sum()) >= dwell_from(series, start, thresholds)
        if high.sum() >= min(SPIKE_WINDOW, len(share)) and sustained:
            end = _passage(series.steps, share, last, thresholds.release) if last < len(share) - 1 else series.steps[-1]
            found.append(
                Hold(
                    head=head,
                    pattern=pattern,
                    start=float(start),
                    end=float(end),
                    share=float(np.median(height[high])),
                    interval=rise_interval(series.steps, share, first, last),
                    first=first,
                    last=last,
                )
            )
    return found


def dwell_from(series: Series, start: float, thresholds: Thresholds) -> float:
    """How long something that began at `start` must last: a share of the run, or as long as the run was old by then.

    The second keeps what happens early in a long run, as in the flow, whose stages are each several times longer than
    the one before.
    """
    age = start - series.start
    return min(thresholds.dwell * series.length, age) if age > 0 else thresholds.dwell * series.length


def _passage(steps: np.ndarray, share: np.ndarray, i: int, level: float) -> float:
    """When the share passes the level between evaluations i and i + 1."""
    part = np.clip((level - share[i]) / (share[i + 1] - share[i]), 0, 1)
    return float(steps[i] + part * (steps[i + 1] - steps[i]))


def _copying(series: Series, holds: list[Hold], patterns: Sequence[Pattern], thresholds: Thresholds) -> list[Copying]:
    """What one head copies over time: the pattern held that was taken up last.

    Patterns taken up within one dwell of each other count as taken up together, and the larger share decides.
    """
    times = sorted({hold.start for hold in holds} | {hold.end for hold in holds})
    stretches: list[Copying] = []
    for start, end in pairwise(times):
        active = [hold for hold in holds if hold.start <= start and hold.end >= end]
        if not active:
            continue
        latest = max(hold.start for hold in active)
        together = [h for h in active if latest - h.start <= dwell_from(series, h.start, thresholds)]
        chosen = max(together, key=lambda hold: hold.share)
        label = patterns[chosen.pattern].label
        if stretches and stretches[-1].label == label and stretches[-1].end == start:
            stretches[-1] = Copying(chosen.head, label, stretches[-1].start, end)
        else:
            stretches.append(Copying(chosen.head, label, start, end))
    if not times or len(times) > 1:
        return stretches
    only = max(holds, key=lambda hold: hold.share)
    return [Copying(only.head, patterns[only.pattern].label, only.start, only.end)]


def _stages(
    series: Series,
    shares: np.ndarray,
    holds: list[Hold],
    copying: list[Copying],
    patterns: Sequence[Pattern],
    thresholds: Thresholds,
) -> tuple[Stage, ...]:
    """Stretches with a constant set of held patterns; a set that lasts less than a dwell belongs to the next one."""
    if not holds:
        return ()
    last = float(series.steps[-1])
    times = sorted({hold.start for hold in holds} | {hold.end for hold in holds if hold.end < last})
    pieces: list[tuple[float, float, frozenset[int]]] = []
    for start, end in zip(times, [*times[1:], last], strict=True):
        held = frozenset(h.pattern for h in holds if h.start <= start and h.end >= end)
        _append(pieces, start, end, held)
    stretches: list[tuple[float, float, frozenset[int]]] = []
    waiting: float | None = None
    for start, end, held in pieces:
        begin = start if waiting is None else waiting
        if end - start < dwell_from(series, start, thresholds) and end < last:
            waiting = begin
            continue
        waiting = None
        _append(stretches, begin, end, held)
    return tuple(
        Stage(
            start,
            end,
            "+".join(str(patterns[p].label) for p in sorted(held)) or "none",
            _purity(series, shares, copying, patterns, start, end),
            _beginning(series, holds, start),
        )
        for start, end, held in stretches
    )


def _beginning(series: Series, holds: list[Hold], start: float) -> Interval:
    """The time that the change takes with which a stage begins: a hold that begins then, or two looks around its
    end.
    """
    rises = [hold.interval for hold in holds if hold.start == start]
    if rises:
        return rises[0]
    after = int(np.searchsorted(series.steps, start))
    return float(series.steps[max(after - 1, 0)]), float(series.steps[min(after, len(series.steps) - 1)])


def _append(pieces: list[tuple[float, float, frozenset[int]]], start: float, end: float, held: frozenset[int]) -> None:
    """Add a piece, or lengthen the last one where it holds the same."""
    if pieces and pieces[-1][2] == held:
        pieces[-1] = (pieces[-1][0], end, held)
    else:
        pieces.append((start, end, held))


def _purity(
    series: Series, shares: np.ndarray, copying: list[Copying], patterns: Sequence[Pattern], start: float, end: float
) -> float:
    """Mean share, over heads and evaluations of the stage, of the pattern each head copies."""
    column = {pattern.label: p for p, pattern in enumerate(patterns)}
    inside = (series.steps >= start) & (series.steps <= end)
    total = np.zeros(shares.shape[:2])
    for stretch in copying:
        during = (series.steps >= stretch.start) & (series.steps <= stretch.end)
        total[during, stretch.head - 1] = shares[during, stretch.head - 1, column[stretch.label]]
    return float(np.clip(total[inside].mean(), 0, 1)) if inside.any() else 0.0
