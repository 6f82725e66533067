"""Plateaus of one or several curves: change points propose, shape disposes.

Kernel change-point detection (ruptures) on the logarithm of the curves cuts the run into pieces of about constant
level, at a penalty per cut. A cut is a stage boundary only if the curve *speeds up again* there: a power-law tail, an
exponential or a slow overfitting rise is convex and is cut by any piecewise-constant fit, but the rate never
increases, so those cuts are taken back, weakest first. What remains are plateaus separated by drops.

It does not say what a plateau means; the readings (`loss`, `function`) do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import ruptures

from headwise.phases.config import Thresholds
from headwise.phases.series import Series, crossing, noise_level, on_grid


@dataclass(frozen=True)
class Plateau:
    """One stage of a curve: from the middle of the drop before to the middle of the drop after."""

    start: float
    end: float
    level: np.ndarray
    flatness: float


@dataclass(frozen=True)
class _Cut:
    """A possible boundary: its place on the grid and how well it passes each test (1: just)."""

    place: float
    quality: float


def find_plateaus(series: Series, thresholds: Thresholds) -> list[Plateau]:
    """The plateaus of the curves, in time order; at least one."""
    curves = on_grid(series, thresholds.grid)
    noise = noise_level(series.values)
    cuts = _proposed_cuts(_logarithm(curves, thresholds.floor), thresholds)
    while cuts:
        judged = [_judge(curves, noise, cuts, i, thresholds) for i in range(len(cuts))]
        weakest = int(np.argmin([cut.quality for cut in judged]))
        if judged[weakest].quality >= 1:
            return _plateaus(series, curves, cuts, [cut.place for cut in judged], thresholds)
        del cuts[weakest]
    return _plateaus(series, curves, [], [], thresholds)


def _logarithm(curves: np.ndarray, floor: float) -> np.ndarray:
    """log(curve + a share of its range): equal ratios count equally until the curve is near its end."""
    lifted = curves - np.minimum(curves.min(axis=0), 0)
    span = np.ptp(lifted, axis=0)
    return np.asarray(np.log(lifted + floor * np.where(span > 0, span, 1)))


def _proposed_cuts(logs: np.ndarray, thresholds: Thresholds) -> list[int]:
    detector = ruptures.KernelCPD(kernel="linear", min_size=2).fit(logs)
    return [int(cut) for cut in detector.predict(pen=thresholds.penalty * len(logs))[:-1]]


def _judge(curves: np.ndarray, noise: np.ndarray, cuts: list[int], i: int, thresholds: Thresholds) -> _Cut:
    """Drop size, plateau length on both sides and shoulder of one cut, each relative to its threshold."""
    edges = [0, *cuts, len(curves)]
    before, after = (edges[i], edges[i + 1]), (edges[i + 1], edges[i + 2])
    low, high = _level(curves, before), _level(curves, after)
    change = high - low
    size = float(np.linalg.norm(change))
    if size == 0:
        return _Cut(edges[i + 1], 0.0)
    span = np.ptp(curves, axis=0)
    floor = thresholds.floor * np.where(span > 0, span, 1) - np.minimum(curves.min(axis=0), 0)
    fall = float(np.max(np.log((low + floor) / (high + floor))))
    if fall <= 0:
        return _Cut(edges[i + 1], 0.0)
    path = (curves - low) @ change / size**2
    times = np.arange(len(curves), dtype=float)
    inside = slice(before[0], after[1])
    place = crossing(times[inside], path[inside], 0.5)
    if place is None:
        return _Cut(edges[i + 1], 0.0)
    flat_before = _flat(curves, edges, i, thresholds)
    flat_after = _flat(curves, edges, i + 1, thresholds)
    tests = [
        fall / thresholds.drop,
        size / (thresholds.noise * float(np.linalg.norm(noise)) + 1e-300),
        len(flat_after) / (thresholds.plateau * len(curves)),
        _shoulder(path, flat_before, flat_after, place) / thresholds.shoulder,
    ]
    if i > 0:
        tests.append(len(flat_before) / (thresholds.plateau * len(curves)))
    return _Cut(place, min(tests))


def _level(curves: np.ndarray, piece: tuple[int, int]) -> np.ndarray:
    return np.asarray(np.median(curves[piece[0] : piece[1]], axis=0))


def _flat(curves: np.ndarray, edges: list[int], i: int, thresholds: Thresholds) -> np.ndarray:
    """Grid places of piece i that lie in its band: near its level compared with the smaller drop next to it."""
    level = _level(curves, (edges[i], edges[i + 1]))
    neighbours = [j for j in (i - 1, i + 1) if 0 <= j < len(edges) - 1]
    drops = [float(np.linalg.norm(_level(curves, (edges[j], edges[j + 1])) - level)) for j in neighbours]
    distance = np.linalg.norm(curves[edges[i] : edges[i + 1]] - level, axis=1)
    return edges[i] + np.flatnonzero(distance <= thresholds.band * min(drops, default=np.inf))


def _shoulder(path: np.ndarray, flat_before: np.ndarray, flat_after: np.ndarray, place: float) -> float:
    """How far the path (0 before, 1 after) stays behind its chord in the half window before the drop.

    A step gives 1/4, a straight line 0, a curve that only slows down less. Windows are as long on both sides and end
    inside the plateaus; the clearest one counts, because a plateau may begin with the end of an earlier descent.
    """
    if not len(flat_before) or not len(flat_after):
        return 0.0
    longest = int(min(place - flat_before[0], flat_after[-1] - place))
    shortest = max(2, int(np.ceil(0.4 * longest)))
    best = 0.0 if longest < shortest else -1.0
    for reach in range(shortest, longest + 1):
        first, last = int(np.ceil(place)) - reach, int(np.floor(place)) + reach
        half = int(np.floor(place)) - first + 1
        chord = path[first] + (path[last] - path[first]) * np.arange(half) / (last - first)
        best = max(best, float(np.mean(chord - path[first : first + half])))
    return best


def _plateaus(
    series: Series, curves: np.ndarray, cuts: list[int], places: list[float], thresholds: Thresholds
) -> list[Plateau]:
    edges = [0, *cuts, len(curves)]
    bounds = [0.0, *(place / (len(curves) - 1) for place in places), 1.0]
    found = []
    for i in range(len(edges) - 1):
        flat = _flat(curves, edges, i, thresholds)
        found.append(
            Plateau(
                start=series.at(bounds[i]),
                end=series.at(bounds[i + 1]),
                level=_level(curves, (edges[i], edges[i + 1])),
                flatness=len(flat) / (edges[i + 1] - edges[i]),
            )
        )
    return found
