"""The target tensor G = Σ_j m_j* V_j* ⊗ s_j* of §3.1, as the few numbers on which the flow depends.

Only the strengths, the patterns s_j* and the Gram matrix of the features enter the exact reduction; the d × d matrices
V_j* are drawn where the full system or a random V(0) needs them, and have that Gram matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator
from headwise.flow.config import FlowConfig, feature_strengths, group_positions, group_weights
from headwise.flow.simplex import Array
from headwise.task.features import equicorrelation_root, haar_orthogonal, nearest_orthonormal


@dataclass(frozen=True, eq=False)
class Target:
    """n features of unit norm: strengths (..., n), patterns (..., n, T) with weights α, Gram matrix (..., n, n).

    Leading dimensions are a batch of targets of the same shape.
    """

    strengths: Array
    patterns: Array
    gram: Array

    def __post_init__(self) -> None:
        n = self.strengths.shape[-1]
        if self.patterns.shape[-2] != n or self.gram.shape[-2:] != (n, n):
            raise ConfigError(f"a target of {n} strengths needs {n} patterns and an {n} x {n} Gram matrix")
        if not all(np.isfinite(a).all() for a in (self.strengths, self.patterns, self.gram)):
            raise ConfigError("target: strengths, patterns and Gram matrix must be finite; remove the NaN")
        if (self.strengths <= 0).any():
            raise ConfigError("target: strengths must be positive; drop the feature instead")

    @property
    def features(self) -> int:
        """n."""
        return int(self.patterns.shape[-2])

    @property
    def positions(self) -> int:
        """T."""
        return int(self.patterns.shape[-1])

    @cached_property
    def signal(self) -> Array:
        """The rows m_j* s_j*, shape (..., n, T)."""
        rows: Array = self.strengths[..., None] * self.patterns
        return rows

    @property
    def plateaus(self) -> Array:
        """The loss once the first k features are learned, k = 0..n: ½ ‖Σ_{j>k} m_j* V_j* ⊗ s_j*‖².

        For patterns that do not overlap this is ½ Σ_{j>k} m_j*² ‖s_j*‖², whatever the Gram matrix.
        """
        overlaps = self.gram * (self.signal @ np.swapaxes(self.signal, -1, -2))
        return np.stack([0.5 * overlaps[..., k:, k:].sum((-1, -2)) for k in range(self.features + 1)], axis=-1)

    @property
    def ideal_attention(self) -> Array:
        """The attention that copies each group: its pattern, normalised to sum to one."""
        rows: Array = self.patterns / self.patterns.sum(-1, keepdims=True)
        return rows


def stack_targets(targets: Sequence[Target]) -> Target:
    """Targets of one shape as a batch."""
    return Target(
        np.stack([target.strengths for target in targets]),
        np.stack([target.patterns for target in targets]),
        np.stack([target.gram for target in targets]),
    )


def singleton_target(strengths: Array, positions: int, gram: Array | None = None) -> Target:
    """Feature j read from position j, the setting of §3.1; orthonormal features unless a Gram matrix is given."""
    strengths = np.asarray(strengths, dtype=float)
    n = len(strengths)
    if positions < n:
        raise ConfigError(f"T = {positions} has fewer positions than h = {n} features; raise T")
    return Target(strengths, np.eye(n, positions), np.eye(n) if gram is None else np.asarray(gram, dtype=float))


def build_target(config: FlowConfig, seed: int) -> Target:
    """The target of a config; the seed matters for Haar features alone."""
    patterns = np.zeros((config.h, config.T))
    for k, (group, weights) in enumerate(zip(group_positions(config), group_weights(config), strict=True)):
        patterns[k, np.asarray(group) - 1] = weights
    if config.features == "haar":
        flat = feature_matrices(config, seed).reshape(config.h, -1)
        gram = flat @ flat.T
    else:
        root = equicorrelation_root(config.h, config.correlation if config.features == "correlated" else 0.0)
        gram = root @ root.T
    if config.features == "frobenius":
        gram = np.eye(config.h)
    return Target(np.array(feature_strengths(config)), patterns, gram)


def feature_matrices(config: FlowConfig, seed: int) -> Array:
    """V_1*, ..., V_h* of unit Frobenius norm, shape (h, d, d)."""
    rng = generator(seed, Stream.TASK)
    haar = np.stack([haar_orthogonal(config.d, rng) for _ in range(config.h)])
    if config.features == "haar":
        units: Array = haar / np.sqrt(config.d)
        return units
    units = nearest_orthonormal(haar)
    if config.features == "correlated":
        units = np.einsum("kl,lij->kij", equicorrelation_root(config.h, config.correlation), units)
    return units
