"""App. C, higher-order heads: h−n+1 heads remain on the first feature, not h−n.

The printed list V_1 = V_{n+1} = ... = V_h and the printed V(0) both need h−n+1: only then is the ensemble at rest.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import draw_instance, flow
from headwise.theory.statement import Outcome, Statement, identity


def ensemble_speed(rng: np.random.Generator, missing: int) -> float:
    """Speed of the first head's values at the printed start, with h−n+1−missing heads on the first feature."""
    i = draw_instance(rng, h=int(rng.integers(4, 6)), d=4)
    n, h = 3, i.heads
    count = h - n + 1 - missing
    free, s = i.V[-1], i.s[-1]
    ensemble = (i.strengths[0] * i.features[0] - s[0] * free) / (h - n + 1)
    second = i.strengths[1] * i.features[1] - s[1] * free
    V = np.stack([*([ensemble] * count), second, free])
    attention = np.stack([*([i.patterns[0]] * count), i.patterns[1], s])
    shift, _ = flow(i.goal, V, attention)
    return float(np.linalg.norm(shift[0]) / i.strengths[0])


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    return identity([ensemble_speed(rng, 1) for _ in range(trials)])


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return identity([ensemble_speed(rng, 0) for _ in range(trials)])


STATEMENT = Statement(
    "remaining-heads",
    "App. C, higher-order heads: count",
    "h−n heads remain on the first feature, at rest at the printed V(0)",
    "h−n+1 heads",
    as_printed,
    as_corrected,
    fault="typo",
)
