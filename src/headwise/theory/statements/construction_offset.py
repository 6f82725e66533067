"""§2.2, construction: a query at position p must look at p+1−i, because it predicts the token after its own.

As printed, K_kᵀQ_k pairs p with p−i and the head copies x_{t−i} for the prediction of x_{t+1}, one token too early.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array
from headwise.theory.statement import Outcome, Statement, bound

LARGE = 60.0


def attention(length: int, lags: list[int], logits: list[float], offset: int) -> Array:
    """Causal attention (query, key) of one head whose query p has `logits` at keys p + offset − lag."""
    scores = np.zeros((length, length))
    for lag, logit in zip(lags, logits, strict=True):
        for p in range(length):
            if 0 <= p + offset - lag <= p:
                scores[p, p + offset - lag] = logit
    scores[np.triu_indices(length, 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


def logit_error(
    rng: np.random.Generator, *, offset: int, alpha: list[list[float]], logits: list[list[float]], scale: list[float]
) -> float:
    """Largest difference to Eq. 1 over predictions with a full context, for three groups of two lags."""
    d, w, length = 4, 6, 14
    groups = [[1, 2], [3, 4], [5, 6]]
    features = rng.standard_normal((3, d, d))
    x = np.eye(d)[rng.integers(d, size=length + 1)]
    worst = 0.0
    heads = [attention(length, g, q, offset) for g, q in zip(groups, logits, strict=True)]
    for p in range(w - 1 + (1 - offset), length):
        wanted = sum(
            f @ sum(a * x[p + 1 - i] for i, a in zip(g, row, strict=True))
            for f, g, row in zip(features, groups, alpha, strict=True)
        )
        computed = sum(c * f @ (head[p] @ x[:length]) for c, f, head in zip(scale, features, heads, strict=True))
        worst = max(worst, float(np.abs(wanted - computed).max()))
    return worst


def uniform(offset: int, rng: np.random.Generator) -> float:
    return logit_error(rng, offset=offset, alpha=[[0.5, 0.5]] * 3, logits=[[LARGE] * 2] * 3, scale=[1.0] * 3)


def as_printed(rng: np.random.Generator, trials: int) -> Outcome:
    errors = [uniform(0, rng) for _ in range(min(trials, 10))]
    return bound(errors, within=1e-9, evidence=f"logits differ from Eq. 1 by up to {max(errors):.2g} at λ = {LARGE:g}")


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    errors = [uniform(1, rng) for _ in range(min(trials, 10))]
    return bound(errors, within=1e-9, evidence=f"logits agree with Eq. 1 within {max(errors):.1g} at λ = {LARGE:g}")


STATEMENT = Statement(
    "construction-offset",
    "§2.2, construction: positions",
    "a query at p attends to p−i for i in I(k)",
    "to p+1−i",
    as_printed,
    as_corrected,
)
