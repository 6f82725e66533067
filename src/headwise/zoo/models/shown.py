"""A model that gives its attention: what the zoo asks of every model it trains.

Shape letters: B sequences, S positions, H heads, Q queries, K keys, E head size.
"""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn import functional


@runtime_checkable
class ShowsAttention(Protocol):
    """A module with explicit attention."""

    def attention(self, tokens_BS: Tensor) -> list[Tensor]:
        """Weights of each block, (B, H, Q, K), by an explicit softmax."""
        ...


def causal_bias(length: int) -> Tensor:
    """Zero where a query may look, minus infinity ahead of it, (Q, K)."""
    return torch.full((length, length), -math.inf).triu(1)


def weights_of(query_BHQE: Tensor, key_BHKE: Tensor, bias: Tensor) -> Tensor:
    """Softmax of scaled products plus a bias that broadcasts to (B, H, Q, K)."""
    scores = query_BHQE @ key_BHKE.transpose(-2, -1) / math.sqrt(query_BHQE.shape[-1])
    return torch.softmax(scores + bias, -1)


def mixed(query_BHQE: Tensor, key_BHKE: Tensor, value_BHKE: Tensor, *, bias: Tensor, explicit: bool) -> Tensor:
    """Values mixed by attention; explicitly while training (faster at this size), else by torch's own function."""
    if explicit:
        return weights_of(query_BHQE, key_BHKE, bias) @ value_BHKE
    return functional.scaled_dot_product_attention(query_BHQE, key_BHKE, value_BHKE, attn_mask=bias)
