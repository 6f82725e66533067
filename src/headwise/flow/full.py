"""The flow of §3.1 on the d × d value matrices themselves, for comparison with the reduction.

V̇_k = Σ_j m_j* ⟨s_j*, s_k⟩ V_j* − Σ_l ⟨s_l, s_k⟩ V_l and q̇_k = Π(s_k)(Σ_j m_j* ⟨V_k, V_j*⟩ s_j* − Σ_l ⟨V_k, V_l⟩ s_l).
The d² × T residual tensor is never formed, so this is a fair opponent in speed comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headwise.flow.reduction import State
from headwise.flow.simplex import Array, project, softmax
from headwise.flow.target import Target


@dataclass(frozen=True, eq=False)
class FullSystem:
    """All heads with their matrices; `features` (n, d, d) are the V_j*, of which the target knows the Gram matrix."""

    target: Target
    features: Array
    heads: int
    metric: Literal["squared", "plain"] = "squared"
    chart: Literal["q", "s"] = "q"

    def pack(self, values: Array, moving: Array) -> Array:
        """V (H, d, d) and attention (H, T) in the chart, as one vector."""
        return np.concatenate([values.ravel(), moving.ravel()])

    def unpack(self, y: Array) -> tuple[Array, Array]:
        """V as (H, d²) and attention (H, T) in the chart."""
        size = self.features[0].size
        split = self.heads * size
        return y[:split].reshape(self.heads, size), y[split:].reshape(self.heads, self.target.positions)

    def attention(self, moving: Array) -> Array:
        """s, shape (H, T)."""
        return softmax(moving) if self.chart == "q" else moving

    def field(self, t: float, y: Array) -> Array:
        """The right-hand side, as ODE solvers want it."""
        values, moving = self.unpack(y)
        s, signal, features = self.attention(moving), self.target.signal, self.features.reshape(len(self.features), -1)
        g = (values @ features.T) @ signal - (values @ values.T) @ s
        step = project(s, g) if self.metric == "squared" else g
        step = project(s, step) if self.chart == "s" else step - step.mean(-1, keepdims=True)
        shift = (s @ signal.T) @ features - (s @ s.T) @ values
        return self.pack(shift, step)

    def loss(self, y: Array) -> float:
        """L = ½ ‖G − P‖², from the Gram matrices of its terms."""
        values, moving = self.unpack(y)
        s, signal, features = self.attention(moving), self.target.signal, self.features.reshape(len(self.features), -1)
        own = np.sum((features @ features.T) * (signal @ signal.T))
        cross = np.sum((values @ features.T) * (s @ signal.T))
        return float(0.5 * own - cross + 0.5 * np.sum((values @ values.T) * (s @ s.T)))

    def reduce(self, y: Array) -> State:
        """The coefficients and attention of a state, dropping what the values hold outside the span of the features."""
        values, moving = self.unpack(y)
        features = self.features.reshape(len(self.features), -1)
        return State(np.asarray(np.linalg.solve(self.target.gram, features @ values.T).T, dtype=np.float64), moving)


def split_values(values: Array, features: Array) -> tuple[Array, Array]:
    """V (H, d, d) as coefficients (H, n) on the features and the Gram matrix (H, H) of what lies outside their span."""
    flat, basis = values.reshape(len(values), -1), features.reshape(len(features), -1)
    coefficients = np.asarray(np.linalg.solve(basis @ basis.T, basis @ flat.T).T, dtype=np.float64)
    outside = flat - coefficients @ basis
    return coefficients, outside @ outside.T
