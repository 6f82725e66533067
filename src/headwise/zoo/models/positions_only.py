"""One block whose heads look by position alone: the smallest model in which heads compete for lags.

Logits are the sum over heads of the attention-weighted rows of a value matrix, as in the paper's minimal model (§2.4),
but the scores of a head are one number per lag. Nothing depends on the tokens except what is copied.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from headwise.zoo.models.shown import causal_bias, mixed


class PositionsOnly(nn.Module):
    """`spread` is the standard deviation of the scores at the start; `lean[h]` is a lag that head h leans to."""

    def __init__(
        self,
        *,
        vocabulary: int,
        length: int,
        heads: int,
        spread: float,
        generator: torch.Generator,
        lean: tuple[int, ...] = (),
        lean_size: float = 0.0,
    ) -> None:
        super().__init__()
        self.heads, self.vocabulary = heads, vocabulary
        scores = torch.randn(heads, length, generator=generator) * spread
        for head, lag in enumerate(lean):
            scores[head, lag - 1] += lean_size
        self.scores = nn.Parameter(scores)
        self.values = nn.Parameter(torch.zeros(heads, vocabulary, vocabulary))
        position = torch.arange(length)
        self.register_buffer("behind", (position[:, None] - position).clamp(min=0), persistent=False)
        self.register_buffer("ahead", causal_bias(length), persistent=False)

    def _bias(self, length: int) -> Tensor:
        behind, ahead = self.get_buffer("behind"), self.get_buffer("ahead")
        return self.scores[:, behind[:length, :length]] + ahead[:length, :length]

    def attention(self, tokens_BS: Tensor) -> list[Tensor]:
        weights = self._bias(tokens_BS.shape[1]).softmax(-1)
        return [weights.expand(tokens_BS.shape[0], *weights.shape)]

    def forward(self, tokens_BS: Tensor) -> Tensor:
        batch, length = tokens_BS.shape
        if self.training:  # attention is the same for every sequence, so it is applied to all of them at once
            values = self.values[:, tokens_BS.T].reshape(self.heads, length, batch * self.vocabulary)
            copied = (self._bias(length).softmax(-1) @ values).sum(0)
            return copied.reshape(length, batch, self.vocabulary).transpose(0, 1)
        none = torch.zeros(batch, self.heads, length, 1)
        values_BHSV = self.values[:, tokens_BS].transpose(0, 1)
        bias = self._bias(length).expand(batch, -1, -1, -1)
        return mixed(none, none, values_BHSV, bias=bias, explicit=False).sum(1)
