"""Attention patterns as matrices, a row of weights for each query, and where scores between positions are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.actions.slices import head_slices

if TYPE_CHECKING:
    from torch import Tensor

    from headwise.model.decoder import Decoder
    from headwise.task.chain import Task


def visible(decoder: Decoder) -> Tensor:
    """Which keys each query sees, (S, S)."""
    lag_SS = decoder.layers[0].attention.lag_SS
    seen = lag_SS >= 1
    return seen if decoder.config.context is None else seen & (lag_SS <= decoder.config.context)


def uniform_pattern(decoder: Decoder) -> Tensor:
    """Every query spreads its attention evenly over all that it sees, (S, S)."""
    seen = visible(decoder).double()
    return seen / seen.sum(-1, keepdim=True)


def group_pattern(task: Task, decoder: Decoder, group: int) -> Tensor:
    """The ideal pattern of a group (from 1): its lags with their weights α; a query that sees none of them is even."""
    lag_SS = decoder.layers[0].attention.lag_SS
    weights = uniform_pattern(decoder).new_zeros(lag_SS.shape)
    for lag, weight in zip(task.lags[group - 1], task.alpha[group - 1], strict=True):
        weights[lag_SS == lag] = float(weight)
    weights = weights * visible(decoder)
    total = weights.sum(-1, keepdim=True)
    return (weights / total.clamp(min=1e-300)).where(total > 0, uniform_pattern(decoder))


def at_lags(decoder: Decoder, lags: Sequence[int]) -> Tensor:
    """The (query, key) pairs at these lags, (S, S)."""
    lag_SS = decoder.layers[0].attention.lag_SS
    return (lag_SS[..., None] == lag_SS.new_tensor(list(lags))).any(-1)


def position_entries(decoder: Decoder, block: int, head: int) -> Tensor:
    """The scores between positions of a head as a view, (query, key), or by lag for relative positions."""
    for piece in head_slices(decoder, block, head, "attention"):
        if piece.name == "lag_HS":
            return piece.weights()
        if piece.name == "score_HDD" and decoder.config.positions == "one_hot":
            start = decoder.token_size
            return piece.weights()[start:, start:].T
    raise ValueError("this model has no scores between positions")
