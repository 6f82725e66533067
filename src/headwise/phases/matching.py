"""Which head of one run plays the part of which head of another.

Which head leaves first is chance, so heads are compared by what they do: on a time axis stretched so that the stages of
both runs coincide, each head is assigned to the head of the reference run whose attention it follows most closely.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from headwise.phases.heads import HeadsView
from headwise.phases.patterns import Pattern
from headwise.phases.run_report import RunReport

GRID = 101
"""Times at which two runs are compared."""


def match_heads(reference: RunReport, run: RunReport) -> tuple[int, ...]:
    """For each head of the reference the head of `run` that does the same, block by block, counted over all blocks.

    A run whose heads could not be read has no such heads; where that is the reference, each head plays itself.
    """
    if not reference.blocks:
        return tuple(range(1, sum(block.shares.shape[1] for block in run.blocks) + 1))
    if not run.blocks:
        return ()
    knots = (_knots(reference), _knots(run))
    if len(knots[0]) != len(knots[1]):
        knots = (knots[0][[0, -1]], knots[1][[0, -1]])
    matched: list[int] = []
    for mine, other in zip(reference.blocks, run.blocks, strict=True):
        course = [
            _course(block, places, reference.heads.patterns) for block, places in zip((mine, other), knots, strict=True)
        ]
        cost = np.abs(course[0][:, :, None] - course[1][:, None]).sum(axis=-1).mean(axis=0)
        _, columns = linear_sum_assignment(cost)
        before = len(matched)
        matched += [before + int(column) + 1 for column in columns]
    return tuple(matched)


def _knots(run: RunReport) -> np.ndarray:
    return np.array([run.start, *run.heads.boundaries, run.end])


def _course(block: HeadsView, knots: np.ndarray, patterns: tuple[Pattern, ...]) -> np.ndarray:
    """Shares (time, head, pattern) on a grid of aligned time, with patterns in the reference's order."""
    times = np.interp(np.linspace(0, 1, GRID), np.linspace(0, 1, len(knots)), knots)
    columns = {pattern.label: p for p, pattern in enumerate(block.patterns)}
    heads = block.shares.shape[1]
    course = np.zeros((GRID, heads, len(patterns)))
    for j, pattern in enumerate(patterns):
        if pattern.label in columns:
            for head in range(heads):
                course[:, head, j] = np.interp(times, block.steps, block.shares[:, head, columns[pattern.label]])
    return course
