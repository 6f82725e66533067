"""The function view: which predictors the model passes on its way (§2.3, Fig. kl).

The nearest predictor by KL is not the stage: f_{A_1} is not the best predictor that sees only I(1), so the curve of
f_{A_{1:2}} may lie below it from the first steps on. What marks a stage is that all curves rest on a plateau together
and that one curve has its own minimum there, lower than on every other plateau: it dips, rests, and rises again.
Passing by without a rest is grazing and does not count.

The score of a stage is that dip: one minus the ratio of the curve's level here to its level on the next-best plateau.

N-gram predictors of a corpus are read otherwise (`nearest_predictor`): they are no laws of the task that a model rests
on, so a stage is the time in which one of them is nearest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headwise.phases.config import Thresholds
from headwise.phases.nearest_predictor import (
    Closest,
    Distances,
    Nearest,
    alike,
    closest_points,
    nearest_path,
    passed_in_order,
)
from headwise.phases.plateaus import Plateau, find_plateaus
from headwise.phases.predictor_text import closest_text, nearest_sentences, open_choice
from headwise.phases.series import Series, finite_series
from headwise.phases.views import Stage, View, unreadable

PREFERRED = ("bayes", "prefix", "window")
NO_PREDICTOR = "no predictor"

Order = Literal["holds", "does not apply", "unreadable"]


@dataclass(frozen=True)
class FunctionView(View):
    """Stages labelled by predictor, and whether the predictors of the family are passed in their order.

    For n-gram predictors also the stretches by nearest one, when the model is closest to each, and which of them hardly
    differ on the batch.
    """

    order: Order = "unreadable"
    reason: str = ""
    nearest: tuple[Nearest, ...] = ()
    closest: tuple[Closest, ...] = ()
    alike: tuple[tuple[str, ...], ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a report says of this view."""
        ordered = f"order of predictors {self.order}: {self.reason}"
        if self.nearest:
            return (*nearest_sentences(self.nearest), *([ordered] if self.order != "unreadable" else []))
        return (ordered,) if self.stages else ()


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


def read_function(
    steps: np.ndarray,
    kl: np.ndarray,
    predictors: Sequence[str],
    thresholds: Thresholds,
    *,
    between: np.ndarray | None = None,
) -> FunctionView:
    """Stages in function space from KL curves (step, predictor), for one family of predictors in order.

    `between`: the distances between n-gram predictors themselves on the batch, (predictor, predictor).
    """
    ngrams = any(name.startswith("ngram_") for name in predictors)
    family = list(predictors) if ngrams else choose_family(predictors)
    series, lost = finite_series(steps, kl[:, [list(predictors).index(name) for name in family]])
    notes = [] if ngrams else [f"function: read from {', '.join(family)}"]
    if len(lost):
        notes.append(f"function: {len(lost)} evaluations are not finite and were left out")
    if len(series.steps) < thresholds.evaluations:
        few = unreadable(
            f"function: {len(series.steps)} finite evaluations are too few for stages; "
            f"evaluate at least {thresholds.evaluations} times"
        )
        return FunctionView(few.stages, few.notes, few.possible, reason="too few evaluations")
    if ngrams:
        return _read_nearest(series, family, notes, thresholds, between)
    plateaus = find_plateaus(series, thresholds)
    labels, scores = _labels(plateaus, thresholds)
    if len(plateaus) == 1:
        order, reason = _order(labels, family)
        notes.append("function: no stage found: no two plateaus with a drop between them")
        return FunctionView((), tuple(notes), order=order, reason=reason)
    if labels[0] is None:
        plateaus, labels, scores = plateaus[1:], labels[1:], scores[1:]
    stages = tuple(
        Stage(plateau.start, plateau.end, NO_PREDICTOR if label is None else family[label], score, plateau.interval)
        for plateau, label, score in zip(plateaus, labels, scores, strict=True)
    )
    order, reason = _order(labels, family)
    return FunctionView(stages, tuple(notes), order=order, reason=reason)


def _read_nearest(
    series: Series, names: list[str], notes: list[str], thresholds: Thresholds, between: np.ndarray | None
) -> FunctionView:
    """N-gram predictors: those that cannot be told apart on the batch are read as the first of them."""
    distances = Distances(series, names, between)
    groups = alike(distances, thresholds.apart)
    same = tuple(tuple(group) for group in groups.values() if len(group) > 1)
    undecided = tuple(open_choice(group, thresholds.apart) for group in same)
    if len(groups) < 2:
        reason = "the predictors do not differ on this batch"
        return FunctionView((), tuple(notes), possible=False, reason=reason, alike=same, undecided=undecided)
    told_apart = distances.of(list(groups))
    nearest = nearest_path(told_apart, thresholds)
    closest = closest_points(told_apart, thresholds)
    stages = tuple(Stage(n.start, n.end, n.predictor, n.score, n.interval) for n in nearest)
    # Drifting logits come a little closer to some predictor by chance, but do not make it the nearest one.
    several = len({n.predictor for n in nearest if n.predictor.startswith("ngram_")}) > 1
    in_order = passed_in_order(closest) if several else None
    verdicts: dict[bool | None, Order] = {True: "holds", False: "does not apply", None: "unreadable"}
    return FunctionView(
        stages if len(stages) > 1 else (),
        tuple(notes),
        order=verdicts[in_order],
        reason=closest_text(closest),
        nearest=nearest,
        closest=closest,
        alike=same,
        undecided=undecided,
    )


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
