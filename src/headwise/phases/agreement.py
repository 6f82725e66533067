"""Where the three views agree and where they do not; nothing is averaged.

Boundaries are matched between views in order where the views count the same number of stages, and otherwise to the
nearest boundary of the view that has most. An initial plateau is a stage of the loss alone; it is named and left out of
the comparison. Views that found no boundary do not agree with one another: there is nothing to agree on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from headwise.phases.config import Thresholds
from headwise.phases.loss import INITIAL
from headwise.phases.views import View, ViewName


@dataclass(frozen=True)
class SharedBoundary:
    """One boundary as each view places it (None: that view does not have it); `spread` is a share of the run."""

    steps: dict[str, float | None]
    spread: float


@dataclass(frozen=True)
class Agreement:
    """`agrees` when all possible views have the same boundaries in about the same places.

    It is None below two views, and where no view has any boundary.
    """

    agrees: bool | None
    counts: dict[str, int]
    boundaries: tuple[SharedBoundary, ...]
    notes: tuple[str, ...]


def compare(views: Mapping[ViewName, View], length: float, thresholds: Thresholds) -> Agreement:
    """Match the boundaries of all views that were possible."""
    notes: list[str] = []
    places: dict[str, list[float]] = {}
    counts: dict[str, int] = {}
    for name, view in views.items():
        if not view.possible:
            continue
        stages = view.stages
        if len(stages) > 1 and stages[0].label.startswith(INITIAL):
            notes.append(f"{name}: the {stages[0].label} ends at {stages[1].start:.4g}; other views do not count it")
            stages = stages[1:]
        counts[name] = len(stages)
        places[name] = [stage.start for stage in stages[1:]]
    boundaries = tuple(match_boundaries(places, length))
    if len(places) < 2:
        notes.append("fewer than two views are possible: nothing to compare")
        return Agreement(None, counts, boundaries, tuple(notes))
    if not boundaries:
        notes.append("no view found a boundary between stages: nothing to compare")
        return Agreement(None, counts, boundaries, tuple(notes))
    if len({len(own) for own in places.values()}) > 1:
        shown = (f"{name} {count or 'none'}" for name, count in counts.items())
        notes.append("stages differ: " + ", ".join(shown))
    for k, boundary in enumerate(boundaries, start=1):
        given = {name: step for name, step in boundary.steps.items() if step is not None}
        missing = [name for name, step in boundary.steps.items() if step is None]
        text = ", ".join(f"{name} {step:.4g}" for name, step in given.items())
        if missing:
            notes.append(f"boundary {k}: {text}; not in {', '.join(missing)}")
        elif boundary.spread > thresholds.agreement:
            notes.append(f"boundary {k}: {text}; {boundary.spread:.1%} of the run apart")
    close = all(
        boundary.spread <= thresholds.agreement and None not in boundary.steps.values() for boundary in boundaries
    )
    return Agreement(close, counts, boundaries, tuple(notes))


def match_boundaries(places: Mapping[str, list[float]], length: float) -> list[SharedBoundary]:
    """The boundaries of several views side by side, one row for each of the view that has most."""
    if not places:
        return []
    reference = max(places, key=lambda name: len(places[name]))
    table: dict[str, list[float | None]] = {}
    for name, own in places.items():
        row: list[float | None] = [None] * len(places[reference])
        if own:
            cost = np.abs(np.subtract.outer(own, places[reference]))
            in_order = np.arange(len(own))
            mine, theirs = (in_order, in_order) if len(own) == len(row) else linear_sum_assignment(cost)
            for i, j in zip(mine, theirs, strict=True):
                row[int(j)] = own[int(i)]
        table[name] = row
    found = []
    for k in range(len(places[reference])):
        steps = {name: row[k] for name, row in table.items()}
        given = [step for step in steps.values() if step is not None]
        found.append(SharedBoundary(steps, (max(given) - min(given)) / length if length else 0.0))
    return found
