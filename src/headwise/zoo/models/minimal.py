"""The paper's minimal model (§2.4) by code of its own: one matrix A_k over tokens and positions, one V_k a head.

Tokens and positions are one-hot, side by side; no embedding, norm, residual connection or MLP.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.zoo.models.shown import causal_bias, mixed, weights_of


class Minimal(nn.Module):
    """`start`: largest entry of A_k at the start, values zero; `xavier`: both by Xavier's rule instead."""

    def __init__(
        self, *, vocabulary: int, length: int, heads: int, start: float, xavier: bool, generator: torch.Generator
    ) -> None:
        super().__init__()
        size = vocabulary + length
        self.vocabulary, self.heads, self.size = vocabulary, heads, size
        attention, values = (
            torch.rand(heads, size, size, generator=generator) * 2 - 1,
            torch.zeros(heads, vocabulary, vocabulary),
        )
        if xavier:
            attention *= math.sqrt(3 / size)
            values = (torch.rand(heads, vocabulary, vocabulary, generator=generator) * 2 - 1) * math.sqrt(
                3 / vocabulary
            )
        else:
            attention *= start
        self.scores, self.values = nn.Parameter(attention), nn.Parameter(values)
        self.register_buffer("places", torch.eye(length), persistent=False)
        self.register_buffer("ahead", causal_bias(length), persistent=False)

    def _parts(self, tokens_BS: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        batch, length = tokens_BS.shape
        token = functional.one_hot(tokens_BS, self.vocabulary).float()
        place = self.get_buffer("places")[:length].expand(batch, -1, -1)
        both = torch.cat([token, place], -1)
        query = torch.einsum("bsi,hij->bhsj", both, self.scores)
        key = both[:, None].expand(-1, self.heads, -1, -1)
        value = torch.einsum("bsi,hij->bhsj", token, self.values)
        return query, key, value, self.get_buffer("ahead")[:length, :length]

    def attention(self, tokens_BS: Tensor) -> list[Tensor]:
        query, key, _, bias = self._parts(tokens_BS)
        return [weights_of(query, key, bias)]

    def forward(self, tokens_BS: Tensor) -> Tensor:
        query, key, value, bias = self._parts(tokens_BS)
        return mixed(query, key, value, bias=bias, explicit=self.training).sum(1)
