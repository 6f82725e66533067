"""The times at which a flow is kept: even in time, even in its logarithm, or dense where something happens."""

from __future__ import annotations

from typing import Literal

import numpy as np

from headwise.flow.heads import HeadsAt
from headwise.flow.simplex import Array
from headwise.flow.solve import Solution

CANDIDATES = 6
"""Adaptive: candidate times for every time kept."""


def choose_times(
    solution: Solution, heads_at: HeadsAt, *, grid: Literal["adaptive", "linear", "log"], points: int
) -> Array:
    """Increasing times from the first to the last, both included."""
    first, last = float(solution.steps[0]), float(solution.steps[-1])
    if grid == "linear":
        return np.linspace(first, last, points)
    if grid == "log":
        rest = np.geomspace(max(1e-3 * (last - first), 1e-6), last - first, points - 1)
        return np.concatenate([[first], first + rest])
    return _adaptive(solution, heads_at, points)


def _adaptive(solution: Solution, heads_at: HeadsAt, points: int) -> Array:
    """Equal shares of a monitor: half of it elapsed time, linear and logarithmic, half of it change.

    Change is the movement of the loss against its start, of attention on groups and of delivered features against
    their strengths, so that every stage gets its points however short it is beside the whole.
    """
    first, last = float(solution.steps[0]), float(solution.steps[-1])
    candidates = np.union1d(
        np.linspace(first, last, CANDIDATES * points // 2),
        first + np.geomspace(1e-4 * (last - first), last - first, CANDIDATES * points // 2),
    )
    chunks = [heads_at(solution.at(candidates[i : i + 500])) for i in range(0, len(candidates), 500)]
    loss = np.concatenate([heads.loss for heads in chunks])
    strengths = chunks[0].target.strengths
    signals = np.concatenate(
        [
            (loss / loss.max())[:, None],
            *(
                np.concatenate(rows).reshape(len(candidates), -1)
                for rows in (
                    [heads.group_attention for heads in chunks],
                    [heads.delivered / strengths for heads in chunks],
                )
            ),
        ],
        axis=1,
    )
    change = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(signals, axis=0)).max(1))])
    elapsed = candidates - first
    clock = 0.5 * elapsed / elapsed[-1] + 0.5 * np.log1p(1e3 * elapsed / elapsed[-1]) / np.log1p(1e3)
    monitor = clock + (change / change[-1] if change[-1] > 0 else 0.0)
    times = np.interp(np.linspace(0.0, monitor[-1], points), monitor, candidates)
    times[0], times[-1] = first, last
    return np.unique(times)
