"""Plateaus of one or several curves: cut the run at its change points, then take back the cuts that are no drops.

Change-point detection on the logarithm of the curves cuts the run into pieces of about constant
level, at a penalty per cut. A cut is a stage boundary only if the curve *speeds up again* there. Whatever only slows
down, a power-law tail, an exponential, any mixture of decaying exponentials, is log-convex: a piecewise-constant fit
cuts it too, but its relative rate never increases, so those cuts are taken back, weakest first. What remains are
plateaus separated by drops.

It does not say what a plateau means; the views (`loss`, `function`) do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headwise.phases.change_points import change_points
from headwise.phases.config import Thresholds
from headwise.phases.rises import BEGUN, DONE, Interval
from headwise.phases.series import Series, halfway, noise_level, on_grid


@dataclass(frozen=True)
class Plateau:
    """One stage of a curve: from the middle of the drop before to the middle of the drop after.

    `interval` is the time from 20 to 80 % of the drop before.
    """

    start: float
    end: float
    level: np.ndarray
    flatness: float
    interval: Interval


def find_plateaus(series: Series, thresholds: Thresholds) -> list[Plateau]:
    """The plateaus of the curves, in time order; at least one.

    Cuts without a drop go first, because the pieces of a split plateau would spoil the shape of the cuts beside them.
    """
    run = _Run(on_grid(series, thresholds.grid), noise_level(series.values), thresholds)
    cuts = run.proposed_cuts()
    while cuts:
        sizes = [run.size(cuts, i) for i in range(len(cuts))]
        if min(sizes) < 1:
            del cuts[int(np.argmin(sizes))]
            continue
        places, shapes = zip(*(run.shape(cuts, i) for i in range(len(cuts))), strict=True)
        if min(shapes) >= 1:
            return run.plateaus(series, cuts, list(places))
        del cuts[int(np.argmin(shapes))]
    return run.plateaus(series, [], [])


class _Run:
    """Curves on the grid (time, curve), and the tests a cut must pass: each returns 1 where it just passes."""

    def __init__(self, curves: np.ndarray, noise: np.ndarray, thresholds: Thresholds) -> None:
        self.curves = curves
        self.noise = noise
        self.thresholds = thresholds
        span = np.ptp(curves, axis=0)
        self.span = float(np.linalg.norm(span))
        self.lift = thresholds.floor * np.where(span > 0, span, 1) - np.minimum(curves.min(axis=0), 0)
        self._levels: dict[tuple[int, int], np.ndarray] = {}
        self._shapes: dict[tuple[int, ...], tuple[float, float]] = {}

    def proposed_cuts(self) -> list[int]:
        """Change points of the lifted logarithm: equal ratios count equally until a curve is near its end."""
        logs = np.log(self.curves + self.lift)
        return change_points(logs, penalty=self.thresholds.penalty * len(logs))

    def level(self, start: int, end: int) -> np.ndarray:
        """The level of a piece of the run, its median."""
        if (start, end) not in self._levels:
            self._levels[start, end] = np.median(self.curves[start:end], axis=0)
        return self._levels[start, end]

    def size(self, cuts: list[int], i: int) -> float:
        """The drop at a cut: the largest fall of a curve's logarithm, and the change against the noise."""
        edges = [0, *cuts, len(self.curves)]
        low, high = self.level(edges[i], edges[i + 1]), self.level(edges[i + 1], edges[i + 2])
        change = float(np.linalg.norm(high - low))
        fall = float(np.max(np.log((low + self.lift) / (high + self.lift))))
        if fall <= 0:
            return -1 + change / (self.span + 1e-300) / 2
        return min(
            fall / self.thresholds.drop, change / (self.thresholds.noise * float(np.linalg.norm(self.noise)) + 1e-300)
        )

    def shape(self, cuts: list[int], i: int) -> tuple[float, float]:
        """Where the drop of a cut is halfway, and whether plateaus and a shoulder frame it.

        The first stage needs the length of a plateau but not its flatness: a run often spends it descending to it.
        Only the two pieces on either side matter, so the answer is kept while those stay.
        """
        edges = [0, *cuts, len(self.curves)]
        key = (i == 0, *edges[max(i - 1, 0) : i + 4])
        if key not in self._shapes:
            self._shapes[key] = self._shape(edges, i)
        return self._shapes[key]

    def _shape(self, edges: list[int], i: int) -> tuple[float, float]:
        low, high = self.level(edges[i], edges[i + 1]), self.level(edges[i + 1], edges[i + 2])
        falling = np.minimum(high - low, 0)
        path = (self.curves[edges[i] : edges[i + 2]] - low) @ falling / float(falling @ falling)
        middle = halfway(path)
        if middle is None:
            return edges[i + 1], 0.0
        place = edges[i] + middle
        before, after = self.flat(edges, i), self.flat(edges, i + 1)
        lengths = (place if i == 0 else len(before), len(after))
        plateau = min(lengths) / (self.thresholds.plateau * len(self.curves))
        return place, min(self.shoulder(before, after, place) / self.thresholds.shoulder, plateau)

    def flat(self, edges: list[int], i: int) -> np.ndarray:
        """Grid places of piece i in its band: near its level compared with the smaller drop next to it."""
        level = self.level(edges[i], edges[i + 1])
        beside = [j for j in (i - 1, i + 1) if 0 <= j < len(edges) - 1]
        drops = [float(np.linalg.norm(self.level(edges[j], edges[j + 1]) - level)) for j in beside]
        distance = np.linalg.norm(self.curves[edges[i] : edges[i + 1]] - level, axis=1)
        return edges[i] + np.flatnonzero(distance <= self.thresholds.band * min(drops, default=np.inf))

    def shoulder(self, before: np.ndarray, after: np.ndarray, place: float) -> float:
        """How far the path from one plateau to the next stays behind its chord in the half window before the drop.

        The path is the projection, on their change, of the logarithms of the curves that fall: 0 before and 1 after. A
        step gives 1/4, a straight line 0, a curve that only slows down less. Windows are as long on both sides of the
        drop and end inside the plateaus; the clearest one counts, because a plateau may begin with the end of an
        earlier descent. Evaluation noise is taken off.
        """
        if not len(before) or not len(after):
            return 0.0
        low, high = (np.median(self.curves[piece], axis=0) + self.lift for piece in (before, after))
        change = np.minimum(np.log(high / low), 0)
        distance = float(np.linalg.norm(change))
        if distance == 0:
            return 0.0
        path = np.log((self.curves + self.lift) / low) @ change / distance**2
        longest = int(min(place - before[0], after[-1] - place))
        best = -1.0
        for reach in range(max(2, int(np.ceil(0.4 * longest))), longest + 1):
            first, last = int(np.ceil(place)) - reach, int(np.floor(place)) + reach
            half = int(np.floor(place)) - first + 1
            chord = path[first] + (path[last] - path[first]) * np.arange(half) / (last - first)
            best = max(best, float(np.mean(chord - path[first : first + half])))
        return best - float(np.linalg.norm((self.noise / high)[change < 0])) / distance

    def plateaus(self, series: Series, cuts: list[int], places: list[float]) -> list[Plateau]:
        """The pieces between the cuts that stood all tests."""
        edges = [0, *cuts, len(self.curves)]
        bounds = [series.at(share) for share in (0.0, *(place / (len(self.curves) - 1) for place in places), 1.0)]
        return [
            Plateau(
                start=bounds[i],
                end=bounds[i + 1],
                level=self.level(edges[i], edges[i + 1]),
                flatness=len(self.flat(edges, i)) / (edges[i + 1] - edges[i]),
                interval=self.interval(series, edges, places, i) if i else (series.start, series.start),
            )
            for i in range(len(edges) - 1)
        ]

    def interval(self, series: Series, edges: list[int], places: list[float], i: int) -> Interval:
        """When the drop to piece i is between 20 and 80 % of its way, widened to the looks around."""
        low, high = self.level(edges[i - 1], edges[i]), self.level(edges[i], edges[i + 1])
        change = high - low
        first, last = edges[i - 1], edges[i + 1] - 1
        path = (self.curves[first : last + 1] - low) @ change / float(change @ change)
        middle = min(max(round(places[i - 1]) - first, 0), len(path) - 1)
        begun, done = middle, middle
        while begun > 0 and path[begun] > BEGUN:
            begun -= 1
        while done < len(path) - 1 and path[done] < DONE:
            done += 1
        times = [series.at((first + place) / (len(self.curves) - 1)) for place in (begun, done)]
        looks = np.searchsorted(series.steps, times[0], side="right") - 1, np.searchsorted(series.steps, times[1])
        ends = [float(series.steps[int(np.clip(look, 0, len(series.steps) - 1))]) for look in looks]
        return min(ends[0], times[0]), max(ends[1], times[1])
