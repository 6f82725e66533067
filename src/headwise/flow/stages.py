"""Stages of one solved flow: when the loss leaves each plateau, who leaves for which group, and who compensates.

The time t_k of stage k is when the loss crosses the midpoint between plateaus k−1 and k. The head that learns feature k
is the one that delivers most of it there; a head's new pattern need not become its largest, so attention alone does
not tell. This reads the solver's own output; stages of an arbitrary trajectory are found elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwise.core.events import Offshoot
from headwise.flow.heads import HeadsAt
from headwise.flow.simplex import Array
from headwise.flow.solve import Solution
from headwise.flow.target import Target


@dataclass(frozen=True)
class NegativeAlignment:
    """The most negative alignment of a head with a feature that it does not learn, and when; counted from 1."""

    head: int
    group: int
    step: float
    value: float


def stage_levels(target: Target) -> Array:
    """Midpoints between neighbouring plateaus of the loss, one per stage."""
    plateaus = target.plateaus
    middle: Array = (plateaus[..., :-1] + plateaus[..., 1:]) / 2
    return middle


def stage_times(target: Target, heads_at: HeadsAt, solution: Solution) -> list[float | None]:
    """t_1, ..., t_n; None where the loss never crosses the level while the flow is watched."""
    return [solution.crossing(lambda y: heads_at(y).loss, float(level)) for level in stage_levels(target)]


def learned_feature(delivered: Array, strengths: Array, stage: int) -> int:
    """The feature (from 0) learned in stage `stage` (from 0): the next most complete one when that stage ends.

    `delivered` is (heads, features).
    """
    return int(np.argsort(-delivered.sum(0) / strengths)[stage])


def stage_features(
    target: Target, heads_at: HeadsAt, solution: Solution, times: Sequence[float | None]
) -> list[int | None]:
    """The feature learned in each stage, counted from 1, None for a stage not reached: loss levels do not show it."""
    found: list[int | None] = []
    for stage, time in enumerate(times):
        if time is None:
            found.append(None)
        else:
            delivered = heads_at(solution.at(np.array([time]))).delivered[0]
            found.append(1 + learned_feature(delivered, target.strengths, stage))
    return found


def offshoots(heads_at: HeadsAt, solution: Solution, times: Sequence[float | None]) -> list[Offshoot]:
    """One for each stage after the first that is reached; its source is the group attended most at the stage before."""
    found = []
    for k in range(1, len(times)):
        step, before = times[k], times[k - 1]
        if step is None:
            continue
        head = int(np.argmax(heads_at(solution.at(np.array([step]))).delivered[0, :, k]))
        then = heads_at(solution.at(np.array([solution.steps[0] if before is None else before])))
        source = int(np.argmax(then.group_attention[0, head]))
        found.append(Offshoot(step, head + 1, source + 1, k + 1))
    return found


def negative_alignments(
    heads_at: HeadsAt, solution: Solution, left: Sequence[Offshoot], *, points: int = 4000, chunk: int = 500
) -> list[NegativeAlignment]:
    """Negative minima of ⟨V_k, V_j*⟩ for every head and every later feature that it does not itself take up."""
    times = np.union1d(solution.steps, np.linspace(solution.steps[0], solution.steps[-1], points))
    parts = [heads_at(solution.at(times[i : i + chunk])).alignment for i in range(0, len(times), chunk)]
    alignment = np.concatenate(parts)
    taken = {(o.head, o.target) for o in left}
    found = []
    for head in range(alignment.shape[1]):
        for group in range(1, alignment.shape[2]):
            at = int(np.argmin(alignment[:, head, group]))
            value = float(alignment[at, head, group])
            if value < 0 and (head + 1, group + 1) not in taken:
                found.append(NegativeAlignment(head + 1, group + 1, float(times[at]), value))
    return found
