"""The competitive phase: all heads of a block have the same largest pattern, long enough, and it matters (§2.3).

Long enough is at least two looks and `log_time` of the run's age when it begins, so that neither the length of the run
nor its unit decides: what is short in a long run may be half of its beginning. It matters if a head leaves the pattern,
or if the loss moves and there are known groups left to leave for; otherwise the pattern is *shared*, which is what
heads show that drift together or that have nothing else to learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwise.core.events import Label, Offshoot
from headwise.phases.chance import excess_share
from headwise.phases.config import Thresholds
from headwise.phases.patterns import Pattern
from headwise.phases.rises import Interval
from headwise.phases.series import Series

FEWEST_LOOKS = 2


@dataclass(frozen=True)
class Span:
    """A stretch of the run; `interval` reaches from the last look before it to the first look after it."""

    start: float
    end: float
    interval: Interval | None = None


@dataclass(frozen=True)
class Shared:
    """A pattern that is the largest of every head of a block for a while, and whom nobody leaves."""

    block: int
    label: Label
    span: Span


def common_stretches(series: Series, patterns: Sequence[Pattern], thresholds: Thresholds) -> list[tuple[int, Span]]:
    """Stretches in which all heads hold the same largest pattern, from shares (step, head, pattern)."""
    shares = series.values
    if not shares.shape[2] or shares.shape[1] < 2:
        return []
    largest = shares.argmax(axis=2)
    height = np.take_along_axis(shares, largest[..., None], axis=2)[..., 0].min(axis=1)
    same = (largest == largest[:, :1]).all(axis=1)
    found: list[tuple[int, Span]] = []
    for pattern in np.unique(largest[:, 0]):
        common = same & (largest[:, 0] == pattern)
        for first, last in _runs(common, height >= thresholds.hold, height >= thresholds.release):
            start = _passage(series.steps, shares[..., pattern].min(axis=1), first, thresholds.hold)
            span = Span(start, _end(series.steps, shares, int(pattern), last), _around(series.steps, first, last))
            if last - first + 1 >= FEWEST_LOOKS and long_enough(series, span, thresholds):
                found.append((int(pattern), span))
    return sorted(found, key=lambda item: item[1].start)


def long_enough(series: Series, span: Span, thresholds: Thresholds) -> bool:
    """Whether the stretch lasts `log_time` of the run's age at its start; one that begins with the run needs a
    dwell.
    """
    age = span.start - series.start
    return span.end - span.start >= (thresholds.log_time * age if age > 0 else thresholds.dwell * series.length)


def until_somebody_leaves(span: Span, offshoots: Sequence[Offshoot], label: Label) -> Span:
    """The stretch up to the first offshoot from its pattern: a head may leave before its new pattern is the largest."""
    times = [o.step for o in offshoots if o.source == label and span.start < o.step <= span.end]
    return Span(span.start, min(times), span.interval) if times else span


def competition_index(attention: np.ndarray, chance: np.ndarray) -> np.ndarray:
    """Mean over pairs of heads of the excess share of what both look at, (step,), from attention (step, head, lag).

    1 where all heads put all attention on the same lags; 0 where no two heads share a lag that either looks at more
    than by chance, (step, lag): even attention is nobody's pattern.
    """
    index = np.zeros(len(attention))
    heads = attention.shape[1]
    pairs = np.triu_indices(heads, k=1)
    for t, (rows, even) in enumerate(zip(attention, chance, strict=True)):
        both = np.minimum(rows[pairs[0]], rows[pairs[1]])
        above = both > even
        shared = np.where(above, both, 0).sum(axis=-1)
        index[t] = excess_share(shared, np.where(above, even, 0).sum(axis=-1)).mean()
    return np.clip(index, 0, 1)


def mean_overlap(overlap: np.ndarray) -> np.ndarray:
    """Mean overlap of all pairs of heads, (step,), from overlaps (step, head, head2), where lags are not known."""
    pairs = np.triu_indices(overlap.shape[-1], k=1)
    return np.asarray(np.clip(overlap[:, pairs[0], pairs[1]].mean(axis=-1), 0, 1))


def _runs(common: np.ndarray, up: np.ndarray, kept: np.ndarray) -> list[tuple[int, int]]:
    """First and last looks of stretches that begin `up` and last while `kept`."""
    found: list[tuple[int, int]] = []
    for i in range(len(common)):
        going_on = bool(found) and found[-1][1] == i - 1
        if common[i] and (kept[i] if going_on else up[i]):
            if going_on:
                found[-1] = (found[-1][0], i)
            else:
                found.append((i, i))
    return found


def _passage(steps: np.ndarray, share: np.ndarray, first: int, level: float) -> float:
    """When the smallest share passes the level before look `first`."""
    if first == 0:
        return float(steps[0])
    low, high = share[first - 1], share[first]
    part = float(np.clip((level - low) / (high - low), 0, 1)) if high > low else 1.0
    return float(steps[first - 1] + part * (steps[first] - steps[first - 1]))


def _end(steps: np.ndarray, shares: np.ndarray, pattern: int, last: int) -> float:
    """When the pattern stops to be the largest of some head, between look `last` and the next one."""
    if last == len(steps) - 1:
        return float(steps[-1])
    others = np.delete(shares[last : last + 2], pattern, axis=2)
    lead = shares[last : last + 2, :, pattern] - (others.max(axis=2) if others.shape[2] else 0.0)
    lead = lead.min(axis=1)
    part = float(np.clip(lead[0] / (lead[0] - lead[1]), 0, 1)) if lead[1] < lead[0] else 1.0
    return float(steps[last] + part * (steps[last + 1] - steps[last]))


def _around(steps: np.ndarray, first: int, last: int) -> Interval:
    return float(steps[max(first - 1, 0)]), float(steps[min(last + 1, len(steps) - 1)])
