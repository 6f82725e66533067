"""The portable fast path: tables instead of projections where there can be any, a chunk of sequences at a time.

Attention logits of the first block are gathered from the score table, value rows from the value table; everything after
attention is the decoder's own code. Autograd runs through each chunk down to the tables and once per step from the
tables to the weights. Where the first block reads a norm or an input with dropped coordinates no table holds it, and
later blocks never read the input itself: these are computed on the stream (`stream_attention`).
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks, Site, threshold
from headwise.model.engine import AttentionSummary, SummedAttention, Visit, chunks, sequences_at_a_time
from headwise.model.handled import require_handled
from headwise.model.stream_attention import attend_stream
from headwise.model.table_attention import Rows, TableAttention, arranged
from headwise.model.tables import tabulate

NARROW = 128


class Looked(NamedTuple):
    """What a chunk looks up: the tables of the first block's attention, and the input for its residual connection."""

    rows: Rows
    stream_RO: Tensor
    offset_O: Tensor


class TabulatedEngine:
    """Runs a decoder that the fast paths handle (`handled`), on any device and in any precision."""

    name = "torch"

    def __init__(self, decoder: Decoder, *, dropout_seed: int, chunk: int) -> None:
        require_handled(decoder.config)
        self.decoder, self.dropout_seed, self.chunk = decoder, dropout_seed, chunk
        self._attention = TableAttention(decoder)

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int, dropout: bool = True) -> float:
        losses = self.summed_losses(inputs, targets, step=step, dropout=dropout)
        return sum(losses.tolist(), 0.0) / targets.numel()

    def summed_losses(self, inputs: Tensor, targets: Tensor, *, step: int, dropout: bool = True) -> Tensor:
        """The summed loss of each chunk, left on the device: nothing here waits for it. Leaves the gradients."""
        self.decoder.zero_grad()
        looked, roots = None, []
        if not self._on_the_stream(dropout=dropout):
            tables = tabulate(self.decoder)
            first_queries = targets.shape[1] if self.decoder.config.blocks == 1 else self.decoder.positions
            roots = [*arranged(self.decoder, tables, first_queries), tables.stream_RO, tables.offset_O]
        leaves = [root.detach().requires_grad_() for root in roots]
        if leaves:
            looked = Looked(Rows(*leaves[:4]), leaves[4], leaves[5])
        losses: list[Tensor] = []
        for part in chunks(inputs.shape[0], self._size(targets.shape[1])):
            masks = DropoutMasks(seed=self.dropout_seed, step=step, first=part.start) if dropout else None
            logits, _ = self._forward(looked, inputs[part], targets.shape[1], masks)
            loss = functional.cross_entropy(logits.flatten(0, 1), targets[part].flatten(), reduction="sum")
            torch.autograd.backward(loss / targets.numel())
            losses.append(loss.detach())
        used = [(root, leaf.grad) for root, leaf in zip(roots, leaves, strict=True) if root.requires_grad]
        if used:
            torch.autograd.backward([t for t, g in used if g is not None], [g for _, g in used if g is not None])
        return torch.stack(losses)

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        summed = SummedAttention()
        looked = None
        if not self._on_the_stream(dropout=False):
            tables = tabulate(self.decoder)
            first_queries = counted if self.decoder.config.blocks == 1 else self.decoder.positions
            looked = Looked(arranged(self.decoder, tables, first_queries), tables.stream_RO, tables.offset_O)
        for part in chunks(inputs.shape[0], self._size(counted)):
            logits, attention = self._forward(looked, inputs[part], counted, None)
            visit(part, logits)
            summed.add(attention, counted)
        return summed.mean()

    def _on_the_stream(self, *, dropout: bool) -> bool:
        """Whether even the first block reads something that no table holds."""
        config = self.decoder.config
        return config.norm == "pre" or (dropout and threshold(config.dropout.embedding) > 0)

    def _size(self, counted: int) -> int:
        """Sequences in a chunk: twice as many of a narrow model, where the number of calls weighs most."""
        return sequences_at_a_time(self.chunk, counted) * (2 if self.decoder.stream <= NARROW else 1)

    def _forward(
        self, looked: Looked | None, tokens_BS: Tensor, counted: int, masks: DropoutMasks | None
    ) -> tuple[Tensor, list[Tensor]]:
        """Logits of the counted positions and each block's attention weights, (B, H, Q, S), of one chunk."""
        decoder, last = self.decoder, self.decoder.config.blocks - 1
        attention: list[Tensor] = []
        if looked is None:
            x = functional.embedding(tokens_BS, decoder.token_table()) + decoder.position_table()
            if masks is not None:
                x = masks.apply(x, decoder.config.dropout.embedding, block=0, site=Site.EMBEDDING)
        else:
            x, a_BHQS = self._first_block(looked, tokens_BS, counted if last == 0 else decoder.positions, masks)
            attention.append(a_BHQS)
        for index, block in enumerate(decoder.layers):
            if index == 0 and looked is not None:
                continue
            queries = counted if index == last else decoder.positions
            seen = block.norm_attention(x) if decoder.config.norm == "pre" else x
            y_BQO, a_BHQS = attend_stream(block.attention, seen, queries, masks)
            x = block.after_attention(x[:, -queries:, : block.writes], y_BQO, masks)
            attention.append(a_BHQS)
        return decoder.read_out(x), attention

    def _first_block(
        self, looked: Looked, tokens_BS: Tensor, queries: int, masks: DropoutMasks | None
    ) -> tuple[Tensor, Tensor]:
        """The stream after the first block, from its tables, and its attention weights."""
        block, tokens = self.decoder.layers[0], self.decoder.dictionary
        y_BQO, a_BQHS = self._attention.apply(looked.rows, tokens_BS, queries, masks)
        if looked.offset_O.numel():
            y_BQO = y_BQO + looked.offset_O
        x_BQO = y_BQO
        if self.decoder.config.residual == "on":
            stream_RO = looked.stream_RO
            x_BQO = functional.embedding(tokens_BS[:, -queries:], stream_RO[:tokens]) + stream_RO[-queries:]
        return block.after_attention(x_BQO, y_BQO, masks), a_BQHS.transpose(1, 2)
