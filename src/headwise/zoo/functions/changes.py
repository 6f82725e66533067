"""When a model comes to follow another predictor: what is true, from its probabilities, and what a report says.

A look clearly has a class where the KL from that class's predictor to the model is the smallest by a margin. A true
change is clear where both sides are held for several looks; between them lies its interval, in which nobody can tell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from headwise.zoo.functions.laws import Law
from headwise.zoo.functions.numbers import HELD, MARGIN
from headwise.zoo.stored import Stored
from headwise.zoo.truth.shares import put_weights


@dataclass(frozen=True)
class ToClass:
    """The model follows this class of predictors from somewhere in the interval on."""

    to: str
    start: float
    end: float


def distances(stored: Stored, model: nn.Module, law: Law) -> tuple[list[str], np.ndarray]:
    """Names of the classes, and mean KL(predictor || model) over positions, (looks, classes)."""
    tokens = torch.as_tensor(stored.tokens)
    known = law.predictors(tokens)
    table = []
    model.eval()
    for look in range(len(stored.looks)):
        put_weights(model, stored, look)
        with torch.no_grad():
            log_BSV = model(tokens).double().log_softmax(-1)
        table.append([float((p * (p.log() - log_BSV)).nan_to_num(0.0).sum(-1).mean()) for p in known.values()])
    return list(known), np.array(table)


def true_changes(steps: np.ndarray, names: Sequence[str], table: np.ndarray) -> tuple[list[ToClass], list[ToClass]]:
    """Clear changes, and looks at which no class is nearest clearly and for long: changes there are borderline."""
    if len(names) == 1:
        return [], []
    nearest, ordered = table.argmin(1), np.sort(table, 1)
    sure = ordered[:, 1] - ordered[:, 0] >= MARGIN
    held: list[tuple[int, int, int]] = []
    for (name, clear), group in groupby(range(len(steps)), key=lambda look: (int(nearest[look]), bool(sure[look]))):
        looks = list(group)
        if clear and len(looks) >= HELD:
            held.append((name, looks[0], looks[-1]))
    clear_ones = [
        ToClass(names[after[0]], float(steps[before[2]]), float(steps[after[1]]))
        for before, after in pairwise(held)
        if before[0] != after[0]
    ]
    inside = {look for _, first, last in held for look in range(first, last + 1)}
    unsure = [
        ToClass(names[k], float(steps[max(look - 1, 0)]), float(steps[min(look + 1, len(steps) - 1)]))
        for look in range(len(steps))
        if look not in inside
        for k in range(len(names))
    ]
    return clear_ones, unsure


def said_changes(report: Mapping[str, Any], law: Law) -> list[ToClass]:
    """Changes of class that a report's nearest predictors say."""
    path = [(law.classes.get(one["predictor"], one["predictor"]), one) for one in report["predictors"]["nearest"]]
    return [
        ToClass(after[0], *map(float, after[1]["interval"]))
        for before, after in pairwise(path)
        if before[0] != after[0]
    ]


def compare(said: Sequence[ToClass], clear: Sequence[ToClass], unsure: Sequence[ToClass]) -> dict[str, int]:
    """Hits, false statements, statements that meet only a borderline stretch, and clear changes that nobody said."""
    left, counts = list(clear), {"hits": 0, "false": 0, "unscored": 0}
    for one in said:
        met = next((event for event in left if _meets(one, event)), None)
        if met is not None:
            left.remove(met)
            counts["hits"] += 1
        else:
            counts["unscored" if any(_meets(one, event) for event in unsure) else "false"] += 1
    return {**counts, "clear": len(clear), "missed": len(left)}


def _meets(one: ToClass, other: ToClass) -> bool:
    return one.to == other.to and one.start <= other.end and other.start <= one.end
