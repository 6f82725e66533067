"""A small transformer: learned positions (absolute, or one score per lag and head), norm first, with or without MLP."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from headwise.zoo.models.shown import causal_bias, mixed, weights_of

Positions = Literal["lags", "absolute"]


class Block(nn.Module):
    """Attention and, where `mlp` is not zero, an MLP of that width; both added to the stream."""

    def __init__(self, *, width: int, heads: int, length: int, positions: Positions, mlp: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.project, self.out = (
            nn.LayerNorm(width),
            nn.Linear(width, 3 * width, bias=False),
            nn.Linear(width, width, bias=False),
        )
        self.lag_scores = nn.Parameter(torch.zeros(heads, length)) if positions == "lags" else None
        self.mlp = (
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, mlp), nn.ReLU(), nn.Linear(mlp, width)) if mlp else None
        )
        position = torch.arange(length)
        self.register_buffer("behind", (position[:, None] - position).clamp(min=0), persistent=False)
        self.register_buffer("ahead", causal_bias(length), persistent=False)

    def _parts(self, stream_BSD: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        batch, length, width = stream_BSD.shape
        parts = self.project(self.norm(stream_BSD)).reshape(batch, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        bias = self.get_buffer("ahead")[:length, :length]
        if self.lag_scores is not None:
            bias = bias + self.lag_scores[:, self.get_buffer("behind")[:length, :length]]
        return query, key, value, bias

    def weights(self, stream_BSD: Tensor) -> Tensor:
        """Attention by an explicit softmax, (B, H, Q, K)."""
        query, key, _, bias = self._parts(stream_BSD)
        return weights_of(query, key, bias)

    def forward(self, stream_BSD: Tensor) -> Tensor:
        query, key, value, bias = self._parts(stream_BSD)
        if not self.training and bias.ndim == 3:
            bias = bias.expand(stream_BSD.shape[0], -1, -1, -1)
        copied = mixed(query, key, value, bias=bias, explicit=self.training)
        stream_BSD = stream_BSD + self.out(copied.transpose(1, 2).flatten(2))
        return stream_BSD if self.mlp is None else stream_BSD + self.mlp(stream_BSD)


class Small(nn.Module):
    """Embedding, blocks, norm, unembedding; weights drawn from `generator` alone."""

    def __init__(
        self,
        *,
        vocabulary: int,
        length: int,
        width: int,
        heads: int,
        blocks: int,
        generator: torch.Generator,
        positions: Positions = "lags",
        mlp: int = 0,
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.zeros(length, width)) if positions == "absolute" else None
        self.blocks = nn.ModuleList(
            Block(width=width, heads=heads, length=length, positions=positions, mlp=mlp) for _ in range(blocks)
        )
        self.norm, self.unembedding = nn.LayerNorm(width), nn.Linear(width, vocabulary)
        draw_weights(self, generator)

    def _embed(self, tokens_BS: Tensor) -> Tensor:
        stream: Tensor = self.embedding(tokens_BS)
        return stream if self.places is None else stream + self.places[: tokens_BS.shape[1]]

    def attention(self, tokens_BS: Tensor) -> list[Tensor]:
        stream, seen = self._embed(tokens_BS), []
        for block in self.blocks:
            assert isinstance(block, Block)
            seen.append(block.weights(stream))
            stream = block(stream)
        return seen

    def forward(self, tokens_BS: Tensor) -> Tensor:
        stream = self._embed(tokens_BS)
        for block in self.blocks:
            stream = block(stream)
        logits: Tensor = self.unembedding(self.norm(stream))
        return logits


def draw_weights(module: nn.Module, generator: torch.Generator) -> None:
    """Fill weights from this generator: embeddings and positions normal, matrices uniform like torch, biases zero."""
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            if "embedding.weight" in name and "un" not in name:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
            elif name.endswith("places"):
                parameter.copy_(0.5 * torch.randn(parameter.shape, generator=generator))
            elif parameter.ndim == 2 and "lag_scores" not in name:
                bound = parameter.shape[1] ** -0.5
                parameter.copy_((torch.rand(parameter.shape, generator=generator) * 2 - 1) * bound)
            elif name.endswith("bias"):
                parameter.zero_()
