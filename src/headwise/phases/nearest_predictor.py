"""Which n-gram predictor a language model is nearest to, over training, and when it comes closest to each (paper §2.3
for any language model).

Nearest is not equal: a model on its way from one predictor to another passes by a third, so what is said is how near,
in nats, and when. Predictors that hardly differ on the batch are taken together under the first of them. A predictor is
approached when the model comes closer to it than every predictor that sees less is; the one that is nearest at the
first evaluation needs no approach. The path of nearest predictors is the one with the smallest sum of distances when
every change costs as much as a difference that counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headwise.core.predictors import predictor_order
from headwise.phases.config import Thresholds
from headwise.phases.series import Series, noise_level

NOISES = 3.0
"""A difference that counts is at least this many standard deviations of the evaluation noise."""


@dataclass(frozen=True)
class Nearest:
    """A stretch in which one predictor is the nearest; `step` is where its distance `nats` is smallest."""

    predictor: str
    start: float
    end: float
    interval: tuple[float, float]
    """the evaluations between which it became the nearest"""
    nats: float
    step: float
    score: float
    """one minus its distance over that of the next nearest, mean over the stretch"""


@dataclass(frozen=True)
class Closest:
    """When the model is closest to a predictor; `passed` if it went away again before the end."""

    predictor: str
    step: float
    nats: float
    interval: tuple[float, float]
    """the evaluations around it that are as close but for a difference that does not count"""
    passed: bool


@dataclass(frozen=True)
class Distances:
    """Finite distances of a model to predictors over time, (step, predictor), and between the predictors themselves.

    `between_KK` is KL(row || column) on the batch. Where it is not known, a predictor is taken to be as far from those
    that see less as from the model at the first evaluation.
    """

    series: Series
    names: list[str]
    between_KK: np.ndarray | None

    def of(self, names: Sequence[str]) -> Distances:
        """Some of the predictors alone."""
        index = [self.names.index(name) for name in names]
        between = None if self.between_KK is None else self.between_KK[np.ix_(index, index)]
        return Distances(Series(self.series.steps, self.series.values[:, index]), list(names), between)

    def approached(self, thresholds: Thresholds) -> list[int]:
        """The predictors that the model comes closer to than those before them are, and the first nearest one."""
        kl = self.series.values
        first = int(np.argmin(kl[0]))
        found = []
        for k in range(len(self.names)):
            shorter = kl[0, k] if self.between_KK is None else self.between_KK[k, :k].min(initial=np.inf)
            if k == first or kl[:, k].min() <= (1 - thresholds.closer) * min(shorter, kl[0, k]):
                found.append(k)
        return found


def alike(distances: Distances, apart: float) -> dict[str, list[str]]:
    """Predictors by the first of those that cannot be told from them: closer than `apart` on the batch, or, where that
    is not known, with distances to the model that never differ by as much.
    """
    kl, between = distances.series.values, distances.between_KK
    apart_KK = (
        np.abs(kl[:, :, None] - kl[:, None, :]).max(axis=0) if between is None else np.maximum(between, between.T)
    )
    groups: dict[str, list[str]] = {}
    for i, name in enumerate(distances.names):
        first = next((leader for leader in groups if apart_KK[distances.names.index(leader), i] < apart), name)
        groups.setdefault(first, []).append(name)
    return groups


def nearest_path(distances: Distances, thresholds: Thresholds) -> tuple[Nearest, ...]:
    """The stretches of the run by nearest predictor, in time order."""
    steps, kl, names = distances.series.steps, distances.series.values, distances.names
    able = distances.approached(thresholds)
    noise = float(noise_level(kl - kl.mean(axis=1, keepdims=True)).max())
    path = [able[k] for k in _cheapest(kl[:, able], cost=max(thresholds.apart, NOISES * noise))]
    edges = [0, *(i for i in range(1, len(path)) if path[i] != path[i - 1]), len(path)]
    bounds = [
        (float(steps[0]), (float(steps[0]), float(steps[0]))),
        *(_crossing(steps, kl, path, edge) for edge in edges[1:-1]),
        (float(steps[-1]), (float(steps[-1]), float(steps[-1]))),
    ]
    found = []
    for (low, high), ((start, interval), (end, _)) in zip(pairwise(edges), pairwise(bounds), strict=True):
        own = kl[low:high, path[low]]
        others = np.delete(kl[low:high], path[low], axis=1).min(axis=1)
        score = float(np.clip(1 - own / np.maximum(others, 1e-300), 0, 1).mean())
        best = low + int(np.argmin(own))
        found.append(
            Nearest(names[path[low]], start, end, interval, float(kl[best, path[low]]), float(steps[best]), score)
        )
    return tuple(found)


def closest_points(distances: Distances, thresholds: Thresholds) -> tuple[Closest, ...]:
    """For each predictor that the model approached: when it was closest."""
    steps = distances.series.steps
    found = []
    for k in distances.approached(thresholds):
        own = distances.series.values[:, k]
        margin = max(thresholds.apart, NOISES * float(noise_level(own[:, None])[0]))
        best = int(np.argmin(own))
        beyond = np.flatnonzero(own > own[best] + margin)
        low = int(max((i + 1 for i in beyond if i < best), default=0))
        high = int(min((i - 1 for i in beyond if i > best), default=len(own) - 1))
        found.append(
            Closest(
                distances.names[k],
                float(steps[best]),
                float(own[best]),
                (float(steps[low]), float(steps[high])),
                passed=high < len(own) - 1,
            )
        )
    return tuple(found)


def passed_ngrams(closest: Sequence[Closest]) -> list[Closest]:
    """The n-gram predictors that were passed, in the order of n, with the shortest of those that were not."""
    ngrams = [point for point in closest if point.predictor.startswith("ngram_")]
    ngrams.sort(key=lambda point: predictor_order(point.predictor))
    ahead = [point for point in ngrams if not point.passed]
    return [point for point in ngrams if point not in ahead[1:]]


def passed_in_order(closest: Sequence[Closest]) -> bool | None:
    """Whether n-gram predictors were passed in the order of n: each closest before the next; None below two of them,
    and where two are so near in time that they cannot be ordered.
    """
    ngrams = passed_ngrams(closest)
    if len(ngrams) < 2:
        return None
    late = [(a, b) for a, b in pairwise(ngrams) if a.step >= b.step]
    if not late:
        return True
    return False if any(a.interval[0] > b.interval[1] for a, b in late) else None


def _cheapest(kl: np.ndarray, *, cost: float) -> list[int]:
    """The column for each row with the smallest sum, where each change of column costs `cost`."""
    total, came = kl[0].copy(), []
    for row in kl[1:]:
        best = int(np.argmin(total))
        stay = total <= total[best] + cost
        came.append(np.where(stay, np.arange(len(row)), best))
        total = np.where(stay, total, total[best] + cost) + row
    path = [int(np.argmin(total))]
    for back in reversed(came):
        path.append(int(back[path[-1]]))
    return path[::-1]


def _crossing(steps: np.ndarray, kl: np.ndarray, path: list[int], edge: int) -> tuple[float, tuple[float, float]]:
    """Where the curve of the new predictor falls below that of the old one, between two evaluations."""
    old, new = path[edge - 1], path[edge]
    before, after = (float(kl[i, new] - kl[i, old]) for i in (edge - 1, edge))
    share = before / (before - after) if before > 0 > after else 0.5
    low, high = float(steps[edge - 1]), float(steps[edge])
    return low + share * (high - low), (low, high)
