"""All heads of a flow at given times, whatever system and coordinates produced them, and what is measured on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from headwise.flow.full import FullSystem
from headwise.flow.reduction import System
from headwise.flow.simplex import Array
from headwise.flow.systems import best_values
from headwise.flow.target import Target


@dataclass(frozen=True, eq=False)
class Heads:
    """Coefficients (t, H, n), attention (t, H, T), Gram matrix of the values outside the features' span (t, H, H)."""

    target: Target
    coefficients: Array
    attention: Array
    outside: Array

    @property
    def residual(self) -> Array:
        """R (t, n, T): what is left of each feature at each position."""
        rest: Array = self.target.signal - np.swapaxes(self.coefficients, -1, -2) @ self.attention
        return rest

    @property
    def loss_part(self) -> Array:
        """The loss split by (feature, position), ½ R ⊙ K R, shape (t, n, T).

        The parts are squares when features are orthogonal; correlated features share cross terms evenly, which may be
        negative. What values outside the span of the features cost is in the loss and in no part.
        """
        rest = self.residual
        parts: Array = 0.5 * rest * (self.target.gram @ rest)
        return parts

    @property
    def loss(self) -> Array:
        """L (t,)."""
        shared = self.attention @ np.swapaxes(self.attention, -1, -2)
        total: Array = self.loss_part.sum((-1, -2)) + 0.5 * np.sum(self.outside * shared, axis=(-1, -2))
        return total

    @property
    def alignment(self) -> Array:
        """⟨V_k, V_j*⟩ (t, H, n)."""
        inner: Array = self.coefficients @ self.target.gram
        return inner

    @property
    def cosine(self) -> Array:
        """Alignment over ‖V_k‖; zero where V_k = 0, which points nowhere."""
        square = np.sum(self.coefficients * self.alignment, axis=-1) + np.diagonal(self.outside, axis1=-2, axis2=-1)
        norm = np.sqrt(np.maximum(square, 0.0))[..., None]
        cosine: Array = np.divide(self.alignment, norm, out=np.zeros_like(self.alignment), where=norm > 0)
        return cosine

    @property
    def delivered(self) -> Array:
        """How much of each feature each head delivers (t, H, n): its coefficient times its attention on the pattern."""
        return contributions(self.target, self.coefficients, self.attention)

    @property
    def group_attention(self) -> Array:
        """Attention mass on each group (t, H, n)."""
        mass: Array = self.attention @ (self.target.patterns > 0).astype(float).T
        return mass


def group_means(now: Heads, groups: Sequence[Sequence[int]]) -> tuple[Array, Array, Array | None]:
    """Coefficients (g, n), attention (g, T) and outside Gram matrix (g, g), if any, averaged over groups of heads.

    `now` holds one time. This starts grouped systems from a flow of all heads.
    """
    mean = np.zeros((len(groups), now.attention.shape[1]))
    for row, group in enumerate(groups):
        mean[row, list(group)] = 1 / len(group)
    outside = mean @ now.outside[0] @ mean.T
    return mean @ now.coefficients[0], mean @ now.attention[0], outside if np.any(outside) else None


HeadsAt = Callable[[Array], Heads]
"""All heads at packed states (t, size)."""


def contributions(target: Target, coefficients: Array, attention: Array) -> Array:
    """Coefficient × attention along the pattern, (..., H, n); sums over heads to m_j* where feature j is learned."""
    on_pattern = attention @ np.swapaxes(target.patterns, -1, -2)
    share: Array = coefficients * on_pattern / np.sum(target.patterns**2, axis=-1)[..., None, :]
    return share


def heads_of_system(system: System) -> HeadsAt:
    """Rows of a system that stand for several equal heads, repeated."""
    rows = np.repeat(np.arange(system.heads), system.multiplicity.astype(int))

    def heads_at(y: Array) -> Heads:
        state = system.unpack(y)
        outside = system.overlap_outside(state)[..., rows[:, None], rows]
        return Heads(system.target, state.coefficients[..., rows, :], system.attention(state)[..., rows, :], outside)

    return heads_at


def heads_of_nth_head(system: System, *, heads: int, n: int) -> HeadsAt:
    """The free head last; before it the heads that fit features 1..n−1, h−n+1 of them on the first, at their best."""
    target = system.target
    counts = np.array([heads - n + 1.0] + [1.0] * (n - 2))
    fitted = target.ideal_attention[: n - 1]
    rows = np.repeat(np.arange(n - 1), counts.astype(int))

    def heads_at(y: Array) -> Heads:
        state = system.unpack(y)
        free, s = state.coefficients[..., 0, :], system.attention(state)[..., 0, :]
        best = np.stack(
            [
                best_values(target, fitted, multiplicity=counts, head=c, s=a)
                for c, a in zip(free.reshape(-1, target.features), s.reshape(-1, target.positions), strict=True)
            ]
        ).reshape(*free.shape[:-1], n - 1, target.features)
        fixed = np.broadcast_to(fitted[rows], (*s.shape[:-1], len(rows), target.positions))
        coefficients = np.concatenate([best[..., rows, :], free[..., None, :]], axis=-2)
        attention = np.concatenate([fixed, s[..., None, :]], axis=-2)
        return Heads(target, coefficients, attention, np.zeros((*s.shape[:-1], heads, heads)))

    return heads_at


def heads_of_full(system: FullSystem) -> HeadsAt:
    """The full system's matrices, reduced to what is measured."""
    basis = system.features.reshape(len(system.features), -1)

    def heads_at(y: Array) -> Heads:
        size = basis.shape[1] * system.heads
        values = y[..., :size].reshape(*y.shape[:-1], system.heads, basis.shape[1])
        moving = y[..., size:].reshape(*y.shape[:-1], system.heads, system.target.positions)
        solved = np.linalg.solve(system.target.gram, np.swapaxes(values @ basis.T, -1, -2))
        coefficients = np.asarray(np.swapaxes(solved, -1, -2), dtype=np.float64)
        rest = values - coefficients @ basis
        return Heads(system.target, coefficients, system.attention(moving), rest @ np.swapaxes(rest, -1, -2))

    return heads_at
