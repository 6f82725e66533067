"""The function view: which predictors the model passes on its way (§2.3, Fig. kl).

The nearest predictor by KL is not the stage: f_{A_1} is not the best predictor that sees only I(1), so the curve of
f_{A_{1:2}} may lie below it from the first steps on. What marks a stage is that all curves rest on a plateau together
and that one curve has its own minimum there, lower than on every other plateau: it dips, rests, and rises again.
Passing by without a rest is grazing and does not count.

The score of a stage is that dip: one minus the ratio of the curve's level here to its level on the next-best plateau.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headwise.phases.config import Thresholds
from headwise.phases.plateaus import Plateau, find_plateaus
from headwise.phases.series import finite_series
from headwise.phases.views import Stage, View, unreadable

PREFERRED = ("bayes", "prefix", "window")
NO_PREDICTOR = "no predictor"

Order = Literal["holds", "does not apply", "unreadable"]


@dataclass(frozen=True)
class FunctionView(View):
    """Stages labelled by predictor, and whether the predictors of the family are passed in their order."""

    order: Order = "unreadable"
    reason: str = ""


def choose_family(predictors: Sequence[str]) -> list[str]:
    """One family of predictors in its order: Bayes-optimal before prefix before restricted context, else all as given.

    Where the Bayes family stops before the full predictor, the last prefix predictor (which equals it) completes it.
    """
    families: dict[str, list[tuple[int, str]]] = {}
    for name in predictors:
        match = re.fullmatch(r"(.+?)_(\d+)", name)
        if match:
            families.setdefault(match[1], []).append((int(match[2]), name))
    for family in PREFERRED:
        members = sorted(families.get(family, []))
        if family == "bayes" and members:
            members += [item for item in sorted(families.get("prefix", []))[-1:] if item[0] > members[-1][0]]
        if len(members) > 1:
            return [name for _, name in members]
    return list(predictors)


def read_function(steps: np.ndarray, kl: np.ndarray, predictors: Sequence[str], thresholds: Thresholds) -> FunctionView:
    """Stages in function space from KL curves (step, predictor), for one family of predictors in order."""
    family = choose_family(predictors)
    series, lost = finite_series(steps, kl[:, [list(predictors).index(name) for name in family]])
    notes = [f"function: read from {', '.join(family)}"]
    if len(lost):
        notes.append(f"function: {len(lost)} evaluations are not finite and were left out")
    if len(series.steps) < thresholds.evaluations:
        few = unreadable(
            f"function: {len(series.steps)} finite evaluations are too few for stages; "
            f"evaluate at least {thresholds.evaluations} times"
        )
        return FunctionView(few.stages, few.notes, reason="too few evaluations")
    plateaus = find_plateaus(series, thresholds)
    labels, scores = _labels(plateaus, thresholds)
    if len(plateaus) > 1 and labels[0] is None:
        plateaus, labels, scores = plateaus[1:], labels[1:], scores[1:]
    stages = tuple(
        Stage(plateau.start, plateau.end, NO_PREDICTOR if label is None else family[label], score)
        for plateau, label, score in zip(plateaus, labels, scores, strict=True)
    )
    order, reason = _order(labels, family)
    return FunctionView(stages, tuple(notes), order, reason)


def _labels(plateaus: list[Plateau], thresholds: Thresholds) -> tuple[list[int | None], list[float]]:
    """For each plateau the predictor that has its clear minimum there; of several, the nearest."""
    levels = np.stack([plateau.level for plateau in plateaus])
    labels: list[int | None] = []
    scores: list[float] = []
    for i, level in enumerate(levels):
        others = np.delete(levels, i, axis=0)
        rest = others.min(axis=0) if len(others) else np.full_like(level, np.inf)
        dip = 1 - np.clip(level, 0, None) / np.maximum(rest, 1e-300)
        claimed = np.flatnonzero(dip >= thresholds.prominence)
        best = int(claimed[np.argmin(level[claimed])]) if len(claimed) else None
        labels.append(best)
        scores.append(float(np.clip(dip[best], 0, 1)) if best is not None else 0.0)
    return labels, scores


def _order(labels: list[int | None], family: list[str]) -> tuple[Order, str]:
    named = [label for label in labels if label is not None]
    if not named:
        return "does not apply", "no predictor has a minimum on a plateau"
    skipped = [family[i] for i in range(max(named)) if i not in named]
    if len(named) < len(labels):
        return "does not apply", "a plateau is nearest to no predictor"
    if skipped:
        return "does not apply", f"{', '.join(skipped)} passed without a plateau of its own"
    if named != sorted(named) or len(set(named)) < len(named):
        return "does not apply", f"passed in the order {', '.join(family[i] for i in named)}"
    if max(named) < len(family) - 1:
        return "holds", f"up to {family[max(named)]}, where the run ends"
    return "holds", f"{', '.join(family)} passed in order"
