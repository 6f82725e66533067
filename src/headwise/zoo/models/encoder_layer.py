"""The paper's full decoder (§2.3) by code of its own: torch's `TransformerEncoderLayer` under a causal mask.

Learned positions, post-norm, ReLU, no dropout: a run must be a function of its seed at every look.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.zoo.models.shown import causal_bias, weights_of
from headwise.zoo.models.small import draw_weights


class FullDecoder(nn.Module):
    """Embedding, one layer, unembedding."""

    def __init__(
        self, *, vocabulary: int, length: int, width: int, heads: int, mlp: int, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(length, width))
        self.layer = nn.TransformerEncoderLayer(width, heads, mlp, dropout=0.0, batch_first=True)
        self.unembedding = nn.Linear(width, vocabulary, bias=False)
        self.register_buffer("ahead", causal_bias(length), persistent=False)
        draw_weights(self, generator)

    def _embed(self, tokens_BS: Tensor) -> Tensor:
        stream: Tensor = self.embedding(tokens_BS) + self.places[: tokens_BS.shape[1]]
        return stream

    def attention(self, tokens_BS: Tensor) -> list[Tensor]:
        stream, inner = self._embed(tokens_BS), self.layer.self_attn
        batch, length, width = stream.shape
        both = functional.linear(stream, inner.in_proj_weight[: 2 * width], inner.in_proj_bias[: 2 * width])
        query, key = both.reshape(batch, length, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        return [weights_of(query, key, self.get_buffer("ahead")[:length, :length])]

    def forward(self, tokens_BS: Tensor) -> Tensor:
        mask = self.get_buffer("ahead")[: tokens_BS.shape[1], : tokens_BS.shape[1]]
        logits: Tensor = self.unembedding(self.layer(self._embed(tokens_BS), src_mask=mask))
        return logits
