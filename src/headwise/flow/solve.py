"""Integrating a flow: SciPy's solvers, or the explicit Euler scheme with clipping that drew the published figure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from headwise.core.errors import ConfigError, RunFailed
from headwise.flow.reduction import System
from headwise.flow.simplex import Array

Method = Literal["DOP853", "LSODA", "Radau"]
Field = Callable[[float, Array], Array]


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved flow: the times of the solver's own steps, the state there, and a function for the times between."""

    steps: Array
    states: Array
    interpolate: Callable[[Array], Array]

    def at(self, times: Array) -> Array:
        """States at any times, shape (len(times), size)."""
        return self.interpolate(np.asarray(times, dtype=float))

    def crossing(self, value: Callable[[Array], Array], level: float) -> float | None:
        """The time at which `value` of the state, which must never rise, falls to `level`, or None."""
        below = np.flatnonzero(value(self.states) <= level)
        if len(below) == 0 or below[0] == 0:
            return None
        before, after = self.steps[below[0] - 1], self.steps[below[0]]

        def gap(t: float) -> float:
            return float(value(self.at(np.array([t])))[0]) - level

        # The interpolant may miss the step's own end by rounding, so the end points decide before the root finder.
        if gap(before) <= 0:
            return float(before)
        if gap(after) > 0:
            return float(after)
        return float(brentq(gap, before, after, xtol=1e-12, rtol=1e-14))


def integrate(
    field: Field, y: Array, *, t_end: float, t_start: float = 0.0, method: Method = "DOP853", rtol: float, atol: float
) -> Solution:
    """Solve from t_start to t_end with dense output."""
    if not np.isfinite(y).all():
        raise ConfigError("the flow's start holds a NaN or an infinity; give finite values and attention")
    with np.errstate(over="ignore", invalid="ignore"):
        result = solve_ivp(field, (t_start, t_end), y, method=method, rtol=rtol, atol=atol, dense_output=True)
    if not result.success or not np.isfinite(result.y[:, -1]).all():
        raise RunFailed(
            f"{method} stopped at t = {result.t[-1]:g}: {result.message}; lower the strengths or the tolerance"
        )
    dense = result.sol
    assert dense is not None
    return Solution(result.t, result.y.T, lambda times: dense(times).T)


def first_fall(
    field: Field, y: Array, *, value: Callable[[Array], float], level: float, t_end: float, rtol: float, atol: float
) -> tuple[float, Array] | None:
    """Solve only until `value` of the state falls to `level`: that time and state, or None if it never does."""

    def gap(t: float, state: Array) -> float:
        return value(state) - level

    gap.terminal = True  # type: ignore[attr-defined]
    result = solve_ivp(field, (0.0, t_end), y, method="DOP853", rtol=rtol, atol=atol, events=gap)
    assert result.t_events is not None
    assert result.y_events is not None
    if len(result.t_events[0]) == 0:
        return None
    return float(result.t_events[0][0]), result.y_events[0][0]


def integrate_euler(
    system: System, y: Array, *, t_end: float, t_start: float = 0.0, step: float, kept: int = 4000
) -> Solution:
    """Explicit Euler in s, negative attention clipped and every row renormalised after each step.

    This is how the published simulation was drawn. Times between the `kept` states are interpolated linearly.
    """
    if system.chart != "s":
        raise ConfigError("euler integrates attention: set chart = s")
    count = max(1, round((t_end - t_start) / step))
    step = (t_end - t_start) / count
    marks = np.unique(np.linspace(0, count, min(kept, count) + 1).round().astype(int))
    states, due = [y.copy()], set(marks[1:].tolist())
    for i in range(1, count + 1):
        y = y + step * system.field(0.0, y)
        s = system.unpack(y).moving
        np.maximum(s, 0.0, out=s)
        s /= s.sum(-1, keepdims=True)
        if i in due:
            states.append(y.copy())
    rows, times = np.stack(states), t_start + step * marks
    with np.errstate(all="ignore"):
        loss = system.loss(system.unpack(rows[[0, -1]]))
    if not loss[1] <= loss[0]:
        raise RunFailed(f"Euler with step {step:g} diverged: the loss rose from {loss[0]:g}; lower euler_step")

    def between(wanted: Array) -> Array:
        right = np.clip(np.searchsorted(times, wanted), 1, len(times) - 1)
        share = ((wanted - times[right - 1]) / (times[right] - times[right - 1]))[:, None]
        return np.asarray((1 - share) * rows[right - 1] + share * rows[right])

    return Solution(times, rows, between)
