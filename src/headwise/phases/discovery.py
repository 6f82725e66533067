"""Patterns without knowing the groups: lags that gain and lose attention together.

Found patterns never merge heads that differ: where a head divides its attention over the lags of a cluster in another
way than the others, or in another way at another time, each lag is a pattern of its own.

Each lag that ever stands out has a signature, its attention over all evaluations and heads. Lags of one sparse pattern
have proportional signatures whatever their weights within it; average-linkage clustering of the signatures gives the
supports. Groups that share lags come out as their common and their separate parts.

A found pattern is a set of lags and no more: its weights are even, which makes its share of a head the attention on
those lags above chance. Weights estimated from the run would tie the timing of every event to what heads do
long after it, and would differ from those of the same groups given with even weights.
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from headwise.phases.chance import OWN_TOKEN, excess_share
from headwise.phases.patterns import Pattern

STANDING_OUT = 0.1
"""A lag stands out where a head's excess share of it is this large..."""
BESIDE_THE_LARGEST = 0.35
"""...and this share of the head's largest excess share at the time."""
TOGETHER = 0.12
"""Largest distance (one minus cosine of signatures, averaged) of lags in one pattern."""
MAGNITUDE = 4.0
"""Lags of one pattern differ in size by less than this factor."""
ALIKE = 0.25
"""Heads that share a pattern divide their attention over its lags alike: at most this part of it would have to
move..."""
SELDOM = 0.1
"""...in all but this share of the looks at which they attend to it."""
ATTENDED = 0.25
"""Excess share from which a head attends to the lags of a pattern."""


def find_patterns(attention: np.ndarray, lags: np.ndarray, chance: np.ndarray | None = None) -> list[Pattern]:
    """Sparse patterns in attention by lag of shape (step, head, lag), most attended first.

    `chance` is what even attention gives each lag, (step, lag); without it all lags that a query sees count alike. The
    list is empty when no lag stands out: even attention has no pattern.
    """
    if chance is None:
        even = 1.0 / max(int((lags >= OWN_TOKEN).sum()), int((lags <= OWN_TOKEN).sum()))
        chance = np.full((len(attention), len(lags)), even)
    by_head = chance[:, None]
    excess = excess_share(attention, by_head)
    largest = excess.max(axis=-1, keepdims=True)
    standing = (excess >= STANDING_OUT) & (excess >= BESIDE_THE_LARGEST * largest)
    sustained = standing.sum(axis=0).max(axis=0) >= max(2, 0.03 * len(attention))
    active = np.flatnonzero(sustained)
    if not len(active):
        return []
    above = np.clip(attention - np.median(attention, axis=-1, keepdims=True), 0, None)
    patterns = []
    for members in _clusters(above[..., active].reshape(-1, len(active))):
        for chosen in _alike(attention, by_head, active[members]):
            mass = float(above[..., chosen].sum())
            names = tuple(int(lag) for lag in lags[chosen])
            patterns.append((mass, Pattern(describe(names), names, (1 / len(names),) * len(names))))
    return [pattern for _, pattern in sorted(patterns, key=lambda item: -item[0])]


def _alike(attention: np.ndarray, chance: np.ndarray, lags: np.ndarray) -> list[np.ndarray]:
    """The lags as one pattern if every head that attends to them does so alike, else each lag as its own."""
    if len(lags) == 1:
        return [lags]
    part = attention[..., lags]
    attending = excess_share(part.sum(axis=-1), chance[..., lags].sum(axis=-1)) >= ATTENDED
    if not attending.any():
        return [lags]
    profiles = part / np.maximum(part.sum(axis=-1, keepdims=True), 1e-12)
    usual = profiles[attending].mean(axis=0)
    moved = np.abs(profiles - usual).sum(axis=-1) / 2 > ALIKE
    looks = attending.sum(axis=0)
    differing = (moved & attending).sum(axis=0) / np.maximum(looks, 1)
    if (differing[looks >= 2] > SELDOM).any():
        return [np.array([lag]) for lag in lags]
    return [lags]


def describe(lags: tuple[int, ...]) -> str:
    """Lags as text, runs shortened: `1-4`, `2,7`."""
    runs: list[list[int]] = []
    for lag in sorted(lags):
        if runs and lag == runs[-1][-1] + 1:
            runs[-1].append(lag)
        else:
            runs.append([lag])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _clusters(signatures: np.ndarray) -> list[np.ndarray]:
    """Columns whose signatures are proportional, as arrays of their places."""
    if signatures.shape[1] == 1:
        return [np.zeros(1, dtype=int)]
    norms = np.maximum(np.linalg.norm(signatures, axis=0), 1e-300)
    units = signatures / norms
    cosine = units.T @ units
    ratio = np.maximum.outer(norms, norms) / np.minimum.outer(norms, norms)
    distance = np.where(ratio > MAGNITUDE, 1.0, 1 - np.clip(cosine, 0, 1))
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform((distance + distance.T) / 2, checks=False), method="average")
    members = np.asarray(fcluster(tree, t=TOGETHER, criterion="distance"))
    return [np.flatnonzero(members == cluster) for cluster in np.unique(members)]
