"""Patterns without knowing the groups: lags that gain and lose attention together.

Each lag that ever stands out has a signature, its attention over all evaluations and heads. Lags of one sparse pattern
have proportional signatures whatever their weights within it; average-linkage clustering of the signatures gives the
supports. Groups that share lags come out as their common and their separate parts.

A found pattern is a set of lags and no more: its weights are even, which makes its share of a head the attention on
those lags above the background. Weights estimated from the run would tie the timing of every event to what heads do
long after it, and would differ from those of the same groups given with even weights.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from headwise.phases.patterns import OWN_TOKEN, Pattern

STANDING_OUT = 3.0
"""A lag stands out where a head gives it this many times the even share of what a query sees..."""
BESIDE_THE_LARGEST = 0.35
"""...and this share of what the same head gives its favourite lag at the time."""
TOGETHER = 0.12
"""Largest distance (one minus cosine of signatures, averaged) of lags in one pattern."""
MAGNITUDE = 4.0
"""Lags of one pattern differ in size by less than this factor."""


def find_patterns(attention: np.ndarray, lags: np.ndarray) -> list[Pattern]:
    """Sparse patterns in attention by lag of shape (step, head, lag), most attended first.

    The list is empty when no lag stands out: even attention has no pattern.
    """
    even = 1.0 / max(int((lags >= OWN_TOKEN).sum()), int((lags <= OWN_TOKEN).sum()))
    peak = attention.max(axis=-1, keepdims=True)
    standing = (attention >= STANDING_OUT * even) & (attention >= BESIDE_THE_LARGEST * peak)
    sustained = standing.sum(axis=0).max(axis=0) >= max(2, 0.03 * len(attention))
    active = np.flatnonzero(sustained)
    if not len(active):
        return []
    excess = np.clip(attention - np.median(attention, axis=-1, keepdims=True), 0, None)
    signatures = excess[..., active].reshape(-1, len(active))
    members = _clusters(signatures)
    patterns = []
    for cluster in np.unique(members):
        chosen = active[members == cluster]
        mass = float(excess[..., chosen].sum())
        names = tuple(int(lag) for lag in lags[chosen])
        patterns.append((mass, Pattern(describe(names), names, (1 / len(names),) * len(names))))
    return [pattern for _, pattern in sorted(patterns, key=lambda item: -item[0])]


def describe(lags: tuple[int, ...]) -> str:
    """Lags as text, runs shortened: `1-4`, `2,7`."""
    runs: list[list[int]] = []
    for lag in sorted(lags):
        if runs and lag == runs[-1][-1] + 1:
            runs[-1].append(lag)
        else:
            runs.append([lag])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _clusters(signatures: np.ndarray) -> np.ndarray:
    if signatures.shape[1] == 1:
        return np.ones(1, dtype=int)
    norms = np.linalg.norm(signatures, axis=0)
    cosine = signatures.T @ signatures / np.outer(norms, norms)
    ratio = np.maximum.outer(norms, norms) / np.minimum.outer(norms, norms)
    distance = np.where(ratio > MAGNITUDE, 1.0, 1 - np.clip(cosine, 0, 1))
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), method="average")
    return np.asarray(fcluster(tree, t=TOGETHER, criterion="distance"))
