"""The reference path: the decoder itself under autograd, a chunk of sequences at a time."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks
from headwise.model.engine import AttentionSummary, SummedAttention, Visit, chunks


class ReferenceEngine:
    """Runs any decoder. Chunks keep a batch's intermediate values in the cache; gradients add up over them."""

    name = "reference"

    def __init__(self, decoder: Decoder, *, dropout_seed: int, chunk: int) -> None:
        self.decoder, self.dropout_seed, self.chunk = decoder, dropout_seed, chunk

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int, dropout: bool = True) -> float:
        self.decoder.zero_grad()
        total = 0.0
        for part in chunks(inputs.shape[0], self.chunk):
            masks = DropoutMasks(seed=self.dropout_seed, step=step, first=part.start) if dropout else None
            logits, _ = self.decoder(inputs[part], targets.shape[1], masks)
            loss = functional.cross_entropy(logits.flatten(0, 1), targets[part].flatten(), reduction="sum")
            torch.autograd.backward(loss / targets.numel())
            total += loss.item()
        return total / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        summed = SummedAttention()
        for part in chunks(inputs.shape[0], self.chunk):
            logits, attention = self.decoder(inputs[part], counted)
            visit(part, logits)
            summed.add(attention, counted)
        return summed.mean()
