"""§2.2, construction: whether a query at position p must look at p−i or at p+1−i depends on what y_t predicts.

The outputs are y_0, ..., y_{T−1} and the query of y_t is x_t, so y_t is the law of x_{t+1}, as in every decoder: then
p+1−i is right, and the printed p−i copies one token too early. The displays around it write the logits of x_t at the
query t: read so, p−i is right, but then y_T is missing and the query holds the answer. The printed range of p speaks
for the first: at p = w and i = w the printed sum names e_d, which is a coordinate of the token, not of a position.
"""

from __future__ import annotations

import numpy as np

from headwise.theory.instance import Array
from headwise.theory.statement import Counterexample, Outcome, Reading, Statement, bound

LARGE = 60.0
GROUPS = ([1, 2], [3, 4], [5, 6])


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
    rng: np.random.Generator,
    *,
    offset: int,
    alpha: list[list[float]],
    logits: list[list[float]],
    scale: list[float],
    ahead: int = 1,
) -> float:
    """Largest difference to Eq. 1 over predictions with a full context, for three groups of two lags.

    The query at p predicts token p + `ahead`.
    """
    d, w, length = 4, 6, 14
    features = rng.standard_normal((3, d, d))
    x = np.eye(d)[rng.integers(d, size=length + 1)]
    worst = 0.0
    heads = [attention(length, g, q, offset) for g, q in zip(GROUPS, logits, strict=True)]
    for p in range(w, length):
        wanted = sum(
            f @ sum(a * x[p + ahead - i] for i, a in zip(g, row, strict=True))
            for f, g, row in zip(features, GROUPS, alpha, strict=True)
        )
        computed = sum(c * f @ (head[p] @ x[:length]) for c, f, head in zip(scale, features, heads, strict=True))
        worst = max(worst, float(np.abs(wanted - computed).max()))
    return worst


def uniform(rng: np.random.Generator, trials: int, *, offset: int, ahead: int) -> Outcome:
    """Equal weights, so that only the positions are at stake."""
    equal = {"alpha": [[0.5, 0.5]] * 3, "logits": [[LARGE] * 2] * 3}
    errors = [
        logit_error(rng, offset=offset, alpha=equal["alpha"], logits=equal["logits"], scale=[1.0] * 3, ahead=ahead)
        for _ in range(min(trials, 10))
    ]
    return bound(
        errors,
        within=1e-9,
        quantity="largest difference of a logit from Eq. 1",
        evidence=f"the logits are within {max(errors):.2g} of those of Eq. 1 at λ = {LARGE:g}",
    )


def next_token(rng: np.random.Generator, trials: int) -> Outcome:
    return uniform(rng, trials, offset=0, ahead=1)


def own_token(rng: np.random.Generator, trials: int) -> Outcome:
    return uniform(rng, trials, offset=0, ahead=0)


def as_corrected(rng: np.random.Generator, trials: int) -> Outcome:
    return uniform(rng, trials, offset=1, ahead=1)


def counterexample() -> Counterexample:
    looked = attention(4, [1], [LARGE], 0)[3]
    at = int(np.argmax(looked))
    return Counterexample(
        f"one head with I(1) = {{1}}, λ = {LARGE:g}, tokens x_1, ..., x_4; the query x_4 predicts x_5",
        "it copies the token of lag 1, x_4",
        f"its largest attention, {looked[at]:.3g}, is on x_{at + 1}, of lag {5 - (at + 1)}",
        at + 1 != 4,
    )


STATEMENT = Statement(
    "construction-offset",
    "§2.2, construction: positions",
    "a query at p attends to p−i for i in I(k)",
    "y_t is the law of x_{t+1}, so the query at p attends to p+1−i",
    None,
    as_corrected,
    fault="typo",
    readings=(
        Reading("y_t is the law of x_{t+1}", next_token),
        Reading("y_t is the law of x_t", own_token),
    ),
    counterexample=counterexample,
)
