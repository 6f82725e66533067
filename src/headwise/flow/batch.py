"""Many flows at once: DOP853 on a batch, every flow with its own time and step size.

A single reduced flow is so small that Python's overhead per call dominates. Here one call serves hundreds of flows,
with the coefficients, error norm and step control of SciPy's DOP853. Flows that reach the end leave the batch. Stage
times are refined by Newton steps on the loss, each a partial DOP853 step, so they are as accurate as the solution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853

from headwise.core.errors import RunFailed
from headwise.flow.reduction import System
from headwise.flow.simplex import Array

STAGES = DOP853.n_stages
FIRST_STEP = 1e-3
SAFETY, SMALLEST, LARGEST, EXPONENT = 0.9, 0.2, 10.0, -1 / 8


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """Per flow: crossing times (N, n; NaN if never) and states (N, n, size), last state, lowest ⟨V, V*⟩ (N, H, n)."""

    times: Array
    crossing_states: Array
    last: Array
    lowest_alignment: Array
    steps: int


def integrate_batch(
    system: System, y: Array, *, levels: Array, t_end: float, rtol: float = 1e-9, atol: float = 1e-12
) -> BatchSolution:
    """Solve flows (N, size) to t_end, noting when the loss of each falls to its `levels` (N, n), which descend."""
    count, size = y.shape
    times = np.full(levels.shape, np.nan)
    states = np.full((*levels.shape, size), np.nan)
    last = np.empty_like(y)
    alignment = system.unpack(y).coefficients @ system.target.gram
    lowest = alignment.copy()
    alive = np.arange(count)
    t, h, slope = np.zeros(count), np.full(count, min(FIRST_STEP, t_end)), system.field(0.0, y)
    loss = system.loss(system.unpack(y))
    buffer = np.empty((STAGES + 1, count, size))
    steps = 0
    while len(alive):
        # A last step is stretched to the end if it nearly reaches it, so that no sliver is left over.
        h = np.where(t + 1.0000001 * h >= t_end, t_end - t, h)
        stages = buffer[:, : len(alive)]
        new, new_slope = _step(system, y, slope, h, stages)
        error = _error(stages, y, new, h, rtol, atol)
        ok = error < 1
        factor = np.where(error > 0, SAFETY * np.maximum(error, 1e-30) ** EXPONENT, LARGEST)
        factor = np.where(ok, np.minimum(LARGEST, factor), np.maximum(SMALLEST, factor))
        if (h * factor < 1e-14 * np.maximum(t, 1.0)).any() or not np.isfinite(error).all():
            raise RunFailed("a flow of the batch needs vanishing steps; lower its strengths or raise rtol")
        new_loss = np.where(ok, system.loss(system.unpack(new)), loss)
        for stage in range(levels.shape[1]):
            at = levels[alive, stage]
            hit = np.flatnonzero((loss > at) & (new_loss <= at))
            if len(hit):
                part = system.take(hit)
                tau, there = _refine(part, y[hit], slope[hit], h[hit], at[hit])
                times[alive[hit], stage], states[alive[hit], stage] = t[hit] + tau, there
        t = np.where(ok, t + h, t)
        y, slope = np.where(ok[:, None], new, y), np.where(ok[:, None], new_slope, slope)
        loss, h, steps = new_loss, h * factor, steps + len(alive)
        lowest[alive] = np.minimum(lowest[alive], system.unpack(y).coefficients @ system.target.gram)
        going = t < t_end
        if not going.all():
            last[alive[~going]] = y[~going]
            keep = np.flatnonzero(going)
            system = system.take(keep)
            alive, t, h, y, slope, loss = alive[keep], t[keep], h[keep], y[keep], slope[keep], loss[keep]
    return BatchSolution(times, states, last, lowest, steps)


def _step(system: System, y: Array, slope: Array, h: Array, stages: Array) -> tuple[Array, Array]:
    """One step of each flow; fills `stages` (13, N, size)."""
    stages[0] = slope
    for i in range(1, STAGES):
        stages[i] = system.field(0.0, y + h[:, None] * np.tensordot(DOP853.A[i, :i], stages[:i], axes=1))
    new = y + h[:, None] * np.tensordot(DOP853.B, stages[:STAGES], axes=1)
    stages[STAGES] = system.field(0.0, new)
    return new, stages[STAGES].copy()


def _error(stages: Array, y: Array, new: Array, h: Array, rtol: float, atol: float) -> Array:
    """SciPy's error norm for DOP853: the fifth-order estimate, damped by the third-order one."""
    scale = atol + rtol * np.maximum(np.abs(y), np.abs(new))
    fifth = np.square(np.tensordot(DOP853.E5, stages, axes=1) / scale).sum(1)
    third = np.square(np.tensordot(DOP853.E3, stages, axes=1) / scale).sum(1)
    both = fifth + 0.01 * third
    norm: Array = h * fifth / np.sqrt(np.where(both > 0, both, 1.0) * y.shape[1])
    return norm


def _refine(system: System, y: Array, slope: Array, h: Array, level: Array) -> tuple[Array, Array]:
    """The part of a step after which the loss is at `level`: Newton's method inside a shrinking bracket."""
    low, high, tau = np.zeros_like(h), h.copy(), 0.5 * h
    stages = np.empty((STAGES + 1, *y.shape))
    there = y
    for _ in range(60):
        there, _unused = _step(system, y, slope, tau, stages)
        state = system.unpack(there)
        gap = system.loss(state) - level
        low, high = np.where(gap > 0, tau, low), np.where(gap > 0, high, tau)
        newton = tau - gap / system.loss_rate(state)
        following = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
        if np.all(np.abs(following - tau) <= 1e-11 * h):
            break
        tau = following
    return tau, there
