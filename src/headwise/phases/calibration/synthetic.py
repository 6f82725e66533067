"""Synthetic trajectories with known answers, to calibrate the detector on and to score it.

A case is drawn from the stated `Ranges`: loss, KL curves and attention of one imagined run whose heads leave the first
pattern one after another. Its answers (boundaries, who leaves when for what) are built in, not measured. Every second
case is stage-free: curves that only slow down, bend up again from overfitting or stay flat, and heads that never leave.

The curves imitate shapes, not a model: logistic drops between plateaus, t^(-1/2) tails, an overfitting rise, spikes,
evaluation noise. For what real training does, see the stored runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import xarray as xr
from pydantic import Field

from headwise.core.config import Config
from headwise.core.trajectory import assemble

Interval = tuple[float, float]
Kind = Literal["staged", "stage-free"]


class Ranges(Config):
    """What the suite covers; times and widths are shares of the run."""

    evaluations: Annotated[tuple[int, int], Field(description="evaluations in a run")] = (50, 400)
    heads: Annotated[tuple[int, int], Field(description="attention heads")] = (2, 6)
    groups: Annotated[tuple[int, int], Field(description="groups of lags")] = (2, 6)
    plateau: Annotated[Interval, Field(description="shortest distance between boundaries; the rest is random")] = (
        0.12,
        0.2,
    )
    width: Annotated[Interval, Field(description="10-90 % width of a drop")] = (0.01, 0.1)
    fall: Annotated[Interval, Field(description="loss after a drop / loss before it")] = (0.2, 0.75)
    noise: Annotated[Interval, Field(description="standard deviation / smallest drop")] = (0.0, 0.05)
    tail: Annotated[Interval, Field(description="height of the t^(-1/2) tail after a drop / that drop")] = (0.0, 0.25)
    descent: Annotated[Interval, Field(description="time constant of the initial descent, when there is one")] = (
        0.003,
        0.02,
    )
    overfit: Annotated[Interval, Field(description="rise at the end of the run / last drop")] = (0.0, 0.5)
    spikes: Annotated[tuple[int, int], Field(description="single evaluations far off")] = (0, 4)
    offset: Annotated[
        Interval, Field(description="bottom of an intermediate KL curve / what is still to be learned")
    ] = (0.0, 0.5)
    focus: Annotated[Interval, Field(description="share of attention on the first pattern")] = (0.6, 0.95)
    new_share: Annotated[Interval, Field(description="final share of the pattern a head leaves for")] = (0.45, 0.95)
    residue: Annotated[Interval, Field(description="share of patterns that a head does not copy")] = (0.0, 0.12)
    blur: Annotated[Interval, Field(description="relative noise of attention by lag")] = (0.0, 0.2)
    glances: Annotated[tuple[int, int], Field(description="short visits of a head to another pattern")] = (0, 3)
    glance: Annotated[Interval, Field(description="length of a glance")] = (0.0, 0.025)
    ties: Annotated[float, Field(description="chance that two heads leave at once")] = 0.15
    missing: Annotated[float, Field(description="chance that the run ends before all patterns are learned")] = 0.3
    overlap: Annotated[float, Field(description="chance that neighbouring groups share lags")] = 0.25


@dataclass(frozen=True)
class Departure:
    """A head leaves the first pattern: head and group count from 1, step is the middle of its transition."""

    step: float
    head: int
    group: int


@dataclass(frozen=True)
class Case:
    """A trajectory and its answers."""

    name: int
    kind: Kind
    trajectory: xr.Dataset
    boundaries: tuple[float, ...]
    departures: tuple[Departure, ...]


def suite(count: int, seed: int = 0, ranges: Ranges | None = None) -> list[Case]:
    """`count` cases, every second one stage-free; case i is the same whatever the count."""
    return [draw_case(i, seed, ranges or Ranges()) for i in range(count)]


def draw_case(name: int, seed: int, ranges: Ranges) -> Case:
    """One case, determined by its number and the seed."""
    rng = np.random.default_rng([seed, name])
    kind: Kind = "staged" if name % 2 == 0 else "stage-free"
    count = int(rng.integers(ranges.evaluations[0], ranges.evaluations[1] + 1))
    steps = np.linspace(0, 1, count) * 10 ** rng.uniform(1, 4)
    time = np.linspace(0, 1, count)
    heads = int(rng.integers(ranges.heads[0], ranges.heads[1] + 1))
    groups = int(rng.integers(ranges.groups[0], ranges.groups[1] + 1))
    plan = _plan(rng, kind, heads, groups, ranges)
    widths = rng.uniform(*ranges.width, size=len(plan.times))
    ramps = [_ramp(time, t, w) for t, w in zip(plan.times, widths, strict=True)]
    lags, patterns = _patterns(rng, groups, ranges)
    attention = _attention(rng, time, heads, patterns, plan, ramps, ranges)
    variables = {
        "excess_loss": _loss(rng, time, plan, ramps, ranges),
        "kl": _kl(rng, time, groups, plan, ramps, ranges),
        "attention_by_lag": attention[:, None],
    }
    trajectory = assemble(
        variables,
        {
            "step": steps,
            "predictor": [f"prefix_{i + 1}" for i in range(groups)],
            "lag": np.arange(1, patterns.shape[1] + 1),
        },
        {"groups": lags, "alpha": [[float(patterns[k, lag - 1]) for lag in group] for k, group in enumerate(lags)]},
    )
    departures = tuple(
        Departure(float(plan.times[j]) * steps[-1], head + 1, group + 1)
        for j, leaving in enumerate(plan.leaving)
        for head, group in leaving
    )
    return Case(name, kind, trajectory, tuple(float(t) * steps[-1] for t in plan.times), departures)


@dataclass(frozen=True)
class _Plan:
    """When who leaves for what: `leaving[j]` lists (head, group) at `times[j]`, counted from 0."""

    times: np.ndarray
    leaving: tuple[tuple[tuple[int, int], ...], ...]


def _plan(rng: np.random.Generator, kind: Kind, heads: int, groups: int, ranges: Ranges) -> _Plan:
    if kind == "stage-free":
        return _Plan(np.zeros(0), ())
    events = min(heads, groups) - 1
    if events > 1 and rng.random() < ranges.missing:
        events = int(rng.integers(1, events))
    gap = rng.uniform(*ranges.plateau)
    events = min(events, int(1 / gap) - 1)
    tied = events > 1 and rng.random() < ranges.ties
    moments = events - 1 if tied else events
    slack = 1 - (moments + 1) * gap
    pauses = rng.dirichlet(np.ones(moments + 1)) * slack + gap
    times = np.cumsum(pauses)[:-1]
    movers = rng.permutation(heads)[:events]
    pairs = [(int(head), j + 1) for j, head in enumerate(movers)]
    if not tied:
        return _Plan(times, tuple((pair,) for pair in pairs))
    at = int(rng.integers(moments))
    return _Plan(
        times,
        tuple(
            tuple(pairs[j : j + 1] if j < at else pairs[j : j + 2] if j == at else pairs[j + 1 : j + 2])
            for j in range(moments)
        ),
    )


def _ramp(time: np.ndarray, middle: float, width: float) -> np.ndarray:
    """Logistic from 0 to 1 whose 10-90 % width is `width`."""
    return np.asarray(1 / (1 + np.exp(np.clip(-(time - middle) * 2 * np.log(9) / width, -700, 700))))


def _tail(time: np.ndarray, start: float, scale: float) -> np.ndarray:
    return np.asarray((1 + np.clip(time - start, 0, None) / scale) ** -0.5)


def _levels(rng: np.random.Generator, plan: _Plan, ranges: Ranges) -> np.ndarray:
    falls = rng.uniform(*ranges.fall, size=len(plan.times))
    return np.cumprod(np.concatenate([[1.0], falls]))


def _loss(
    rng: np.random.Generator, time: np.ndarray, plan: _Plan, ramps: list[np.ndarray], ranges: Ranges
) -> np.ndarray:
    levels = _levels(rng, plan, ranges)
    drops = -np.diff(levels)
    curve = np.full_like(time, levels[0])
    for drop, ramp, middle in zip(drops, ramps, plan.times, strict=True):
        tail = rng.uniform(*ranges.tail) * _tail(time, middle, rng.uniform(0.01, 0.05))
        curve -= drop * ramp * (1 - tail)
    curve += _slowing(rng, time, ranges, levels[0], staged=len(drops) > 0)
    last = float(drops[-1]) if len(drops) else levels[0] * 0.5
    curve += _overfitting(rng, time, plan, last, ranges)
    smallest = float(drops.min()) if len(drops) else max(float(np.ptp(curve)), 0.1)
    return _disturbed(rng, curve[:, None], smallest, ranges)[:, 0] * 10 ** rng.uniform(-1, 1)


def _slowing(rng: np.random.Generator, time: np.ndarray, ranges: Ranges, level: float, *, staged: bool) -> np.ndarray:
    """What only slows down: the initial descent of a run with stages, or the whole curve of one without."""
    height = level * rng.uniform(1, 3)
    if staged:
        descent = np.exp(-time / rng.uniform(*ranges.descent)) if rng.random() < 0.7 else np.zeros_like(time)
        tail = rng.uniform(*ranges.tail) * _tail(time, 0, rng.uniform(0.01, 0.05))
        return np.asarray(height * descent + level * tail)
    shape = rng.integers(4)
    if shape == 0:
        return np.asarray(height * (1 + time / rng.uniform(0.003, 0.1)) ** -rng.uniform(0.5, 1))
    if shape == 1:
        return np.asarray(height * np.exp(-time / rng.uniform(0.01, 0.3)))
    if shape == 2:
        fast, slow = np.exp(-time / rng.uniform(*ranges.descent)), np.exp(-time / rng.uniform(0.1, 0.5))
        return np.asarray(height * (fast + rng.uniform(0.05, 0.5) * slow))
    return np.zeros_like(time)


def _overfitting(rng: np.random.Generator, time: np.ndarray, plan: _Plan, last: float, ranges: Ranges) -> np.ndarray:
    if rng.random() < 0.6:
        return np.zeros_like(time)
    begin = (plan.times[-1] if len(plan.times) else 0.2) + 0.08
    return np.asarray(
        rng.uniform(*ranges.overfit) * last * np.clip((time - begin) / (1 - begin), 0, None) ** rng.uniform(1, 2)
    )


def _disturbed(rng: np.random.Generator, curves: np.ndarray, smallest: float, ranges: Ranges) -> np.ndarray:
    """Evaluation noise and a few spikes, each a single evaluation far from its neighbours."""
    noisy = curves + rng.normal(size=curves.shape) * rng.uniform(*ranges.noise) * smallest
    apart = np.arange(4, len(curves) - 4, 5)
    for place in rng.choice(apart, size=int(rng.integers(ranges.spikes[0], ranges.spikes[1] + 1)), replace=False):
        noisy[place] += rng.uniform(1, 3) * smallest
    return noisy


def _kl(
    rng: np.random.Generator, time: np.ndarray, groups: int, plan: _Plan, ramps: list[np.ndarray], ranges: Ranges
) -> np.ndarray:
    """Distances to the prefix predictors: what is missing plus what is superfluous, plus an offset at the bottom."""
    weight = rng.uniform(0.4, 0.7) ** np.arange(groups)
    learned = [0]
    for leaving in plan.leaving:
        learned.append(max(learned[-1], *(group for _, group in leaving)))
    rest = np.append(np.cumsum(weight[::-1])[::-1][1:], 0.0)
    offset = rng.uniform(*ranges.offset, size=groups) * rest
    offset[-1] = 0.02
    dearer = rng.uniform(1, 2)
    levels = np.array(
        [
            [offset[i] + weight[i + 1 : s + 1].sum() * dearer + weight[s + 1 : i + 1].sum() for i in range(groups)]
            for s in learned
        ]
    )
    curves = np.tile(levels[0], (len(time), 1))
    for j, (ramp, middle) in enumerate(zip(ramps, plan.times, strict=True)):
        tail = rng.uniform(*ranges.tail) * _tail(time, middle, rng.uniform(0.01, 0.05))
        curves += np.outer(ramp * (1 - tail), levels[j + 1] - levels[j])
    curves += _slowing(rng, time, ranges, 1.0, staged=len(ramps) > 0)[:, None] * rng.uniform(0.8, 1.2, size=groups)
    changes = [float(np.linalg.norm(change)) for change in np.diff(levels, axis=0)]
    smallest = min(changes) if changes else 0.3
    curves += _overfitting(rng, time, plan, smallest, ranges)[:, None]
    return np.asarray(np.clip(_disturbed(rng, curves, smallest / np.sqrt(groups), ranges), 1e-6, None))


def _patterns(rng: np.random.Generator, groups: int, ranges: Ranges) -> tuple[list[list[int]], np.ndarray]:
    size = int(rng.integers(1, 5))
    shared = size > 1 and rng.random() < ranges.overlap
    stride = size - int(rng.integers(1, size)) if shared else size
    lags = [list(range(k * stride + 1, k * stride + size + 1)) for k in range(groups)]
    width = lags[-1][-1] + int(rng.integers(4, 15))
    patterns = np.zeros((groups, width))
    for k, group in enumerate(lags):
        patterns[k, np.array(group) - 1] = rng.uniform(1, 2.5, size=size)
    return lags, patterns / patterns.sum(axis=1, keepdims=True)


def _attention(
    rng: np.random.Generator,
    time: np.ndarray,
    heads: int,
    patterns: np.ndarray,
    plan: _Plan,
    ramps: list[np.ndarray],
    ranges: Ranges,
) -> np.ndarray:
    """Every head turns to the first pattern; those that leave move their attention along the ramp of their event."""
    groups, width = patterns.shape
    begin, pace = rng.uniform(0, 0.05), rng.uniform(0.01, 0.05)
    shares = np.zeros((len(time), heads, groups))
    rising = _ramp(time, begin, pace) if rng.random() < 0.8 else np.ones_like(time)
    shares[..., 0] = (
        rising[:, None] * rng.uniform(*ranges.focus, size=heads) * (1 - 0.2 * _tail(time, begin, 0.05))[:, None]
    )
    shares[..., 1:] = rng.uniform(*ranges.residue, size=(heads, groups - 1)) / max(groups - 1, 1)
    if groups > 1:
        shares[..., 1] += rising[:, None] * rng.uniform(*ranges.residue, size=heads)
    for j, (leaving, ramp) in enumerate(zip(plan.leaving, ramps, strict=True)):
        for head, group in leaving:
            arrived = ramp * (1 - rng.uniform(0, 0.3) * _tail(time, plan.times[j], 0.05))
            final = rng.uniform(*ranges.new_share)
            kept = shares[:, head, 0] * (1 - arrived * min(1.0, final / ranges.focus[0]))
            shares[:, head, group] = np.maximum(shares[:, head, group], arrived * final)
            shares[:, head, 0] = np.minimum(kept, 0.97 - shares[:, head, 1:].sum(axis=-1))
    shares = np.clip(shares, 0, None)
    shares /= np.maximum(shares.sum(axis=-1, keepdims=True), 1.0)
    queries = np.arange(width - 4, width + 1)
    background = np.mean([np.where(np.arange(width) < q, 1 / q, 0) for q in queries], axis=0)
    attention = shares @ patterns + (1 - shares.sum(axis=-1, keepdims=True)) * background
    blurred = attention * np.exp(rng.normal(size=attention.shape) * rng.uniform(*ranges.blur))
    for _ in range(int(rng.integers(ranges.glances[0], ranges.glances[1] + 1))):
        head, begin = int(rng.integers(heads)), rng.uniform(0.02, 0.95)
        during = (time >= begin) & (time <= begin + rng.uniform(*ranges.glance))
        blurred[during, head] = 0.5 * blurred[during, head] + 0.5 * patterns[int(rng.integers(groups))]
    return np.asarray(blurred / blurred.sum(axis=-1, keepdims=True))
