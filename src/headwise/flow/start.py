"""Where a flow starts (App. D): V(0) and attention near uniform, with the three readings of its noise.

Noise on s may be read by its deviation or by its covariance, and it may be meant for the logits; each is offered, and
attention is always renormalised. Two starts need no random numbers: A is exactly uniform, B a fixed sine.
"""

from __future__ import annotations

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator
from headwise.flow.config import FlowConfig, head_count, noise_deviation
from headwise.flow.full import split_values
from headwise.flow.simplex import Array, centred_logits
from headwise.flow.target import feature_matrices


def sine_logits(heads: int, positions: int) -> Array:
    """Start B: q[k, i] = 1e-3 sin((k+1)(i+1)) counted from zero, each row's mean removed."""
    q = 1e-3 * np.sin(np.outer(np.arange(1, heads + 1), np.arange(1, positions + 1)))
    centred: Array = q - q.mean(-1, keepdims=True)
    return centred


def noise_generator(config: FlowConfig, seed: int) -> np.random.Generator:
    """Where the noise is drawn from; the published figure took NumPy's default generator with seed 0."""
    return np.random.default_rng(0) if config.noise_draw == "figure" else generator(seed, Stream.NOISE)


def initial_logits(config: FlowConfig, seed: int) -> Array:
    """q(0), shape (heads, T), each row of mean zero."""
    heads = head_count(config)
    if config.start == "B":
        return sine_logits(heads, config.T)
    deviation = noise_deviation(config)
    if config.start == "A" or config.noise == "none" or deviation == 0:
        return np.zeros((heads, config.T))
    noise = deviation * noise_generator(config, seed).standard_normal((heads, config.T))
    if config.noise == "logit":
        centred: Array = noise - noise.mean(-1, keepdims=True)
        return centred
    s = 1 / config.T + noise
    if s.min() <= 0:
        raise ConfigError(
            f"noise_scale: noise of deviation {deviation:g} on s drew a negative attention at T = {config.T}; lower it "
            f"below {0.2 / config.T:g}, or put the noise on the logits (noise = logit)"
        )
    return centred_logits(s / s.sum(-1, keepdims=True))


def initial_matrices(config: FlowConfig, seed: int) -> Array:
    """V(0) as matrices, shape (heads, d, d)."""
    shape = (head_count(config), config.d, config.d)
    if config.values == "zero":
        return np.zeros(shape)
    raw = generator(seed, Stream.INIT).standard_normal(shape)
    unit: Array = raw / np.linalg.norm(raw, axis=(-1, -2), keepdims=True)
    return config.value_scale * unit


def initial_values(config: FlowConfig, seed: int) -> tuple[Array, Array | None]:
    """V(0) in the reduction: coefficients (heads, h) and, unless V(0) = 0, the Gram matrix of the rest."""
    if config.values == "zero":
        return np.zeros((head_count(config), config.h)), None
    return split_values(initial_matrices(config, seed), feature_matrices(config, seed))
