"""The exact reduction: the flow of §3.1 in coordinates that do not depend on d, for every system of §3.

Write V_k = Σ_j C_kj V_j* + U_k with U_k orthogonal to all features. The residual tensor is then
G − P = Σ_j V_j* ⊗ R_j − Σ_k w_k U_k ⊗ s_k with R = diag(m*) s* − Cᵀ w s, and the flow closes on

    Ċ = s Rᵀ,   U̇ = −s sᵀ w U,   g = C K R − Q w s,   q̇_k = Π(s_k) g_k,   K = Gram(V*), Q = Gram(U).

U(t) = B(t) U(0) with Ḃ = −s sᵀ w B, so Q = B Q(0) Bᵀ and V itself can be recovered; B is dropped when U(0) = 0.

Three switches turn this one field into the simplified systems, without approximation beyond what each of them states:
`multiplicity` w_k counts equal heads (coupled, two-group), `fixed` gives attention that does not move (cooperative),
and `solved` names patterns that other heads fit perfectly at all times, so that the residual vanishes on their span
(two-scale, n-th head). Leading dimensions of the state are a batch of flows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from headwise.core.errors import ConfigError
from headwise.flow.simplex import Array, Indices, project, softmax
from headwise.flow.target import Target


@dataclass(frozen=True, eq=False)
class State:
    """Coefficients C (..., H, n), moving attention (..., M, T) in the system's chart, residual mixing B (..., H, H)."""

    coefficients: Array
    moving: Array
    mixing: Array | None = None


@dataclass(frozen=True, eq=False)
class System:
    """A flow with its target, heads and chart. The first `len(fixed)` heads keep the attention given there."""

    target: Target
    multiplicity: Array
    fixed: Array | None = None
    solved: Array | None = None
    outside: Array | None = None
    metric: Literal["squared", "plain"] = "squared"
    chart: Literal["q", "s"] = "q"
    _unsolved: Array | None = field(init=False, repr=False)

    def __post_init__(self) -> None:
        heads = len(self.multiplicity)
        if self.outside is not None and self.outside.shape[-2:] != (heads, heads):
            raise ConfigError(f"outside must be the {heads} x {heads} Gram matrix of the residual values")
        if self.moving_heads < 1:
            raise ConfigError("a system needs at least one head whose attention moves")
        unsolved = None
        if self.solved is not None:
            basis = np.linalg.qr(self.solved.T)[0]
            unsolved = np.eye(self.target.positions) - basis @ basis.T
        object.__setattr__(self, "_unsolved", unsolved)

    @property
    def heads(self) -> int:
        """Rows of the coefficients: distinct heads, each standing for `multiplicity` equal ones."""
        return len(self.multiplicity)

    @property
    def moving_heads(self) -> int:
        """Heads whose attention is integrated."""
        return self.heads - (0 if self.fixed is None else len(self.fixed))

    @property
    def size(self) -> int:
        """Numbers in a packed state."""
        mixing = 0 if self.outside is None else self.heads**2
        return self.heads * self.target.features + self.moving_heads * self.target.positions + mixing

    def take(self, flows: Indices) -> System:
        """The system of some of the flows of a batch; a target shared by all of them stays shared."""
        target, outside = self.target, self.outside
        if target.strengths.ndim > 1:
            target = Target(target.strengths[flows], target.patterns[flows], target.gram[flows])
        if outside is not None and outside.ndim > 2:
            outside = outside[flows]
        return replace(self, target=target, outside=outside)

    def pack(self, state: State) -> Array:
        """A state as one vector per flow."""
        parts = [state.coefficients, state.moving] + ([] if state.mixing is None else [state.mixing])
        return np.concatenate([part.reshape(*part.shape[:-2], -1) for part in parts], axis=-1)

    def unpack(self, y: Array) -> State:
        """Views into a packed vector."""
        batch, n = y.shape[:-1], self.target.features
        a = self.heads * n
        b = a + self.moving_heads * self.target.positions
        return State(
            y[..., :a].reshape(*batch, self.heads, n),
            y[..., a:b].reshape(*batch, self.moving_heads, self.target.positions),
            None if self.outside is None else y[..., b:].reshape(*batch, self.heads, self.heads),
        )

    def attention(self, state: State) -> Array:
        """s, shape (..., H, T), fixed heads first."""
        moving = softmax(state.moving) if self.chart == "q" else state.moving
        if self.fixed is None:
            return moving
        fixed = np.broadcast_to(self.fixed, (*moving.shape[:-2], *self.fixed.shape))
        return np.concatenate([fixed, moving], axis=-2)

    def residual(self, state: State, s: Array) -> Array:
        """R, shape (..., n, T): what is left of each feature at each position."""
        weighted = state.coefficients * self.multiplicity[:, None]
        rest: Array = self.target.signal - np.swapaxes(weighted, -1, -2) @ s
        return rest if self._unsolved is None else rest @ self._unsolved

    def overlap_outside(self, state: State) -> Array:
        """Q = Gram(U), shape (..., H, H)."""
        if state.mixing is None or self.outside is None:
            return np.zeros((*state.coefficients.shape[:-1], self.heads))
        gram: Array = state.mixing @ self.outside @ np.swapaxes(state.mixing, -1, -2)
        return gram

    def pull(self, state: State, s: Array, rest: Array) -> Array:
        """g_k = V_kᵀ(G − P), shape (..., H, T): the direction in which attention lowers the loss."""
        g: Array = (state.coefficients @ self.target.gram) @ rest
        if state.mixing is not None:
            seen = s if self._unsolved is None else s @ self._unsolved
            g = g - (self.overlap_outside(state) * self.multiplicity) @ seen
        return g

    def velocity(self, state: State) -> State:
        """The time derivative of a state."""
        s = self.attention(state)
        rest = self.residual(state, s)
        first = self.heads - self.moving_heads
        g, moving = self.pull(state, s, rest)[..., first:, :], s[..., first:, :]
        if self.metric == "squared":
            step = project(moving, g)
        else:
            step = g - g.mean(-1, keepdims=True) if self.chart == "q" else g
        if self.chart == "s":
            step = project(moving, step)
        mixing = None
        if state.mixing is not None:
            seen = s if self._unsolved is None else s @ self._unsolved
            mixing = -((s @ np.swapaxes(seen, -1, -2)) * self.multiplicity) @ state.mixing
        return State(s @ np.swapaxes(rest, -1, -2), step, mixing)

    def field(self, t: float, y: Array) -> Array:
        """The right-hand side in packed form, as ODE solvers want it."""
        if self.fixed is None and self.solved is None and self.outside is None and self.chart == "q":
            return self._fast_field(y)
        return self.pack(self.velocity(self.unpack(y)))

    def _fast_field(self, y: Array) -> Array:
        """The same for heads that all move, V in the span, in q: where ensembles spend their time."""
        heads, n, split = self.heads, self.target.features, self.heads * self.target.features
        out = np.empty_like(y)
        c, q = y[..., :split].reshape(*y.shape[:-1], heads, n), y[..., split:].reshape(*y.shape[:-1], heads, -1)
        s = np.exp(q - np.maximum.reduce(q, -1, keepdims=True))
        s /= np.add.reduce(s, -1, keepdims=True)
        rest = self.target.signal - np.swapaxes(c * self.multiplicity[:, None], -1, -2) @ s
        step = (c @ self.target.gram) @ rest
        out[..., :split] = (s @ np.swapaxes(rest, -1, -2)).reshape(*y.shape[:-1], split)
        if self.metric == "squared":
            step *= s
            step -= s * np.add.reduce(step, -1, keepdims=True)
        else:
            step -= step.mean(-1, keepdims=True)
        out[..., split:] = step.reshape(*y.shape[:-1], -1)
        return out

    def loss(self, state: State) -> Array:
        """L = ½ tr(Rᵀ K R) + ½ tr(w Q w s sᵀ), the tensor loss of Prop. 1."""
        s = self.attention(state)
        rest = self.residual(state, s)
        total: Array = 0.5 * np.sum(rest * (self.target.gram @ rest), axis=(-1, -2))
        if state.mixing is not None:
            seen = s if self._unsolved is None else s @ self._unsolved
            overlap = np.outer(self.multiplicity, self.multiplicity) * self.overlap_outside(state)
            total = total + 0.5 * np.sum(overlap * (s @ np.swapaxes(seen, -1, -2)), axis=(-1, -2))
        return total

    def loss_rate(self, state: State) -> Array:
        """dL/dt along the flow: minus the squared speed of every head in its own metric, equal heads counted apart."""
        s, velocity = self.attention(state), self.velocity(state)
        rest = self.residual(state, s)
        first = self.heads - self.moving_heads
        g = self.pull(state, s, rest)[..., first:, :]
        shift = velocity.coefficients
        values = np.sum(shift * (shift @ self.target.gram), axis=-1)
        if velocity.mixing is not None and self.outside is not None:
            values = values + np.sum(velocity.mixing * (velocity.mixing @ self.outside), axis=-1)
        tangent = project(s[..., first:, :], g)
        drop = tangent if self.metric == "squared" else g
        attention = np.sum(tangent * drop, axis=-1)
        rate: Array = -(values * self.multiplicity).sum(-1) - (attention * self.multiplicity[first:]).sum(-1)
        return rate
