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
    """A possible boundary: its place on the grid and how well it passes the tests of size and of shape (1: just)."""

    place: float
    size: float
    shape: float


def find_plateaus(series: Series, thresholds: Thresholds) -> list[Plateau]:
    """The plateaus of the curves, in time order; at least one.

    Cuts without a drop go first, because the pieces of a split plateau would spoil the shape of the cuts beside them.
    """
    curves = on_grid(series, thresholds.grid)
    noise = float(np.linalg.norm(noise_level(series.values)))
    cuts = _proposed_cuts(_logarithm(curves, thresholds.floor), thresholds)
    while cuts:
        judged = [_judge(curves, noise, cuts, i, thresholds) for i in range(len(cuts))]
        sizes, shapes = [cut.size for cut in judged], [cut.shape for cut in judged]
        if min(sizes) >= 1 and min(shapes) >= 1:
            return _plateaus(series, curves, cuts, [cut.place for cut in judged], thresholds)
        del cuts[int(np.argmin(sizes if min(sizes) < 1 else shapes))]
    return _plateaus(series, curves, [], [], thresholds)


def _logarithm(curves: np.ndarray, floor: float) -> np.ndarray:
    """log(curve + a share of its range): equal ratios count equally until the curve is near its end."""
    lifted = curves - np.minimum(curves.min(axis=0), 0)
    span = np.ptp(lifted, axis=0)
    return np.asarray(np.log(lifted + floor * np.where(span > 0, span, 1)))


def _proposed_cuts(logs: np.ndarray, thresholds: Thresholds) -> list[int]:
    detector = ruptures.KernelCPD(kernel="linear", min_size=2).fit(logs)
    return [int(cut) for cut in detector.predict(pen=thresholds.penalty * len(logs))[:-1]]


def _judge(curves: np.ndarray, noise: float, cuts: list[int], i: int, thresholds: Thresholds) -> _Cut:
    """Size of the drop, plateau on both sides and shoulder of one cut, each relative to its threshold.

    The first plateau may be short: a run often spends it descending to it.
    """
    edges = [0, *cuts, len(curves)]
    before, after = (edges[i], edges[i + 1]), (edges[i + 1], edges[i + 2])
    low, high = _level(curves, before), _level(curves, after)
    change = high - low
    distance = float(np.linalg.norm(change))
    fall = _largest_fall(curves, low, high, thresholds.floor)
    if distance == 0 or fall <= 0:
        return _Cut(edges[i + 1], distance / (1e3 * float(np.linalg.norm(np.ptp(curves, axis=0)) + 1e-300)), 0.0)
    size = min(fall / thresholds.drop, distance / (thresholds.noise * noise + 1e-300))
    path = (curves - low) @ change / distance**2
    inside = slice(before[0], after[1])
    place = crossing(np.arange(len(curves), dtype=float)[inside], path[inside], 0.5)
    if place is None:
        return _Cut(edges[i + 1], size, 0.0)
    flat_before, flat_after = _flat(curves, edges, i, thresholds), _flat(curves, edges, i + 1, thresholds)
    shoulder = _shoulder(path, flat_before, flat_after, place) - noise / distance
    lengths = [len(flat_after)] if i == 0 else [len(flat_before), len(flat_after)]
    shape = min(shoulder / thresholds.shoulder, min(lengths) / (thresholds.plateau * len(curves)))
    return _Cut(place, size, shape)


def _largest_fall(curves: np.ndarray, low: np.ndarray, high: np.ndarray, floor: float) -> float:
    """The largest fall of any curve between two levels, in logarithm; negative where all rise."""
    span = np.ptp(curves, axis=0)
    lift = floor * np.where(span > 0, span, 1) - np.minimum(curves.min(axis=0), 0)
    return float(np.max(np.log((low + lift) / (high + lift))))


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
