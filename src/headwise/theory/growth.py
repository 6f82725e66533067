"""How fast deviations between two solutions can grow: the constant of the two boundedness theorems.

Deviations are measured as the theorems do, by the largest of ‖V_k − V‖ and ‖s_k − s‖ over heads. The constant is the
largest row sum of block norms of the Jacobian of Eq. dynamics along the reference solution: the logarithmic growth in
exactly that norm, computed before any perturbed solution is looked at.
"""

from __future__ import annotations

import itertools

import numpy as np

from headwise.flow.reduction import State, System
from headwise.flow.simplex import Array
from headwise.flow.target import Target


def stack(c: Array, s: Array) -> list[Array]:
    """Blocks V_1, ..., V_h, s_1, ..., s_h."""
    return [*c, *s]


def deviation(a: tuple[Array, Array], b: tuple[Array, Array]) -> float:
    """The largest block difference."""
    return max(float(np.linalg.norm(x - y)) for x, y in zip(stack(*a), stack(*b), strict=True))


def constant(target: Target, heads: int, c: Array, s: Array) -> float:
    """Largest row sum of block norms of the Jacobian at one point (c (h, n), s (h, T))."""
    system = System(target, np.ones(heads), chart="s")
    y = system.pack(State(c, s))
    step = 1e-6
    columns = [
        (system.field(0.0, y + step * unit) - system.field(0.0, y - step * unit)) / (2 * step)
        for unit in np.eye(len(y))
    ]
    jacobian = np.array(columns).T
    n, T = target.features, target.positions
    edges = np.concatenate([np.arange(heads) * n, heads * n + np.arange(heads + 1) * T])
    blocks = [slice(a, b) for a, b in itertools.pairwise(edges)]
    return max(sum(float(np.linalg.norm(jacobian[r, k], 2)) for k in blocks) for r in blocks)
