"""The simplified systems of §3.2, §3.3 and App. C as instances of the one reduced field.

| name        | heads integrated                                      | paper                         |
|-------------|-------------------------------------------------------|-------------------------------|
| coupled     | one head that stands for h equal ones                 | §3.2                          |
| two-group   | an ensemble of h−1 equal heads that moves, one head   | none: what tracks the flow    |
| cooperative | the same, the ensemble's attention fixed at s_1*      | Eq. cooperative               |
| two-scale   | one head, the ensemble's values at their optimum      | Eq. second_dynamics           |
| nth-head    | one head, features below n fitted by other heads      | App. C, higher-order heads    |

Groups of several positions are the same systems with s_j* spread by α. One thing is lost there: an ensemble fixed at a
spread pattern is held by assumption, where at a single position Π(s_1*) = 0 holds it.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from headwise.flow.reduction import System
from headwise.flow.simplex import Array
from headwise.flow.target import Target

Metric = Literal["squared", "plain"]
Chart = Literal["q", "s"]


def all_heads(
    target: Target, heads: int, *, outside: Array | None = None, metric: Metric = "squared", chart: Chart = "q"
) -> System:
    """The flow of §3.1: every head on its own."""
    return System(target, np.ones(heads), outside=outside, metric=metric, chart=chart)


def coupled(
    target: Target, heads: int, *, outside: Array | None = None, metric: Metric = "squared", chart: Chart = "q"
) -> System:
    """§3.2: `heads` equal heads as one."""
    return System(target, np.array([float(heads)]), outside=outside, metric=metric, chart=chart)


def grouped(
    target: Target, sizes: Array, *, outside: Array | None = None, metric: Metric = "squared", chart: Chart = "q"
) -> System:
    """Groups of equal heads, all of whose attention moves. Sizes h−1 and 1 make the two-group model."""
    return System(target, sizes, outside=outside, metric=metric, chart=chart)


def cooperative(target: Target, heads: int, *, metric: Metric = "squared", chart: Chart = "s") -> System:
    """Eq. cooperative: the ensemble (first) attends to s_1* for good, its values and the offshooting head move."""
    return System(target, np.array([heads - 1.0, 1.0]), fixed=target.ideal_attention[:1], metric=metric, chart=chart)


def nth_head(target: Target, n: int, *, metric: Metric = "squared", chart: Chart = "s") -> System:
    """App. C: one head, while others keep features 1..n−1 fitted. `n = 2` is Eq. second_dynamics."""
    return System(target, np.ones(1), solved=target.patterns[: n - 1], metric=metric, chart=chart)


def perturbed_start(target: Target, *, heads: int, n: int, epsilon: float, unused: float = 0.0) -> tuple[Array, Array]:
    """V_n(0) as coefficients and s_n(0): Remark init_loss, V' = (m_1/h) V_1* + ε V_n*, s' = (1−ε) s_1* + ε s_n*.

    h there is the number of heads still on the first feature, the leaving one included, so h−n+2 of `heads` for the
    n-th head. `unused` spreads that much attention evenly over all positions, for starts in the interior.
    """
    coefficients = np.zeros(target.features)
    coefficients[0] = target.strengths[0] / (heads - n + 2)
    coefficients[n - 1] += epsilon
    ideal = target.ideal_attention
    attention = (1 - epsilon) * ideal[0] + epsilon * ideal[n - 1]
    return coefficients, (1 - unused) * attention + unused / target.positions


def best_values(target: Target, attention: Array, *, multiplicity: Array, head: Array, s: Array) -> Array:
    """Coefficients of the heads at `attention` (F, T) that fit best, given one other head (n,) with attention s (T,).

    They make the residual vanish on every given pattern. For the cooperative system this is V* of Lemma optimality,
    (m_1* V_1* − ⟨s_1*, s'⟩ V')/(h−1).
    """
    rest = target.signal - np.outer(head, s)
    fitted = np.linalg.solve(attention @ attention.T, attention @ rest.T)
    values: Array = fitted / multiplicity[:, None]
    return values
