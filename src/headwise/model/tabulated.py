"""The portable fast path: tables instead of projections, a chunk of sequences at a time, in pure torch.

Attention logits are gathered from the score table, value rows from the value table; everything after attention is the
decoder's own code. Autograd runs through each chunk down to the tables and once per step from the tables to the
weights. With dropout on embeddings the input is no longer a sum of two table rows; such a step computes projections
after all (`dropped_attention`).
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks, Site, threshold
from headwise.model.dropped_attention import attend_dropped
from headwise.model.engine import AttentionSummary, SummedAttention, Visit, chunks, sequences_at_a_time
from headwise.model.handled import require_handled
from headwise.model.reference import ReferenceEngine
from headwise.model.table_attention import Rows, TableAttention, arranged
from headwise.model.tables import tabulate

NARROW = 128


class TabulatedEngine:
    """Runs a decoder that the fast paths handle (`handled`), on any device and in any precision."""

    name = "torch"

    def __init__(self, decoder: Decoder, *, dropout_seed: int, chunk: int) -> None:
        require_handled(decoder.config)
        self.decoder, self.dropout_seed, self.chunk = decoder, dropout_seed, chunk
        self._attention = TableAttention(decoder)
        self._reference = ReferenceEngine(decoder, dropout_seed=dropout_seed, chunk=chunk)

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int) -> float:
        if threshold(self.decoder.config.dropout.embedding):
            return self._with_dropped_inputs(inputs, targets, step=step)
        self.decoder.zero_grad()
        tables = tabulate(self.decoder)
        arranged_rows = arranged(self.decoder, tables, targets.shape[1])
        roots = [*arranged_rows, tables.stream_RO, tables.offset_O]
        leaves = [root.detach().requires_grad_() for root in roots]
        total = 0.0
        for part in chunks(inputs.shape[0], self._size(targets.shape[1])):
            masks = DropoutMasks(seed=self.dropout_seed, step=step, first=part.start)
            logits, _ = self._forward(Rows(*leaves[:4]), leaves[4], leaves[5], (inputs[part], targets.shape[1], masks))
            loss = functional.cross_entropy(logits.flatten(0, 1), targets[part].flatten(), reduction="sum")
            torch.autograd.backward(loss / targets.numel())
            total += loss.item()
        used = [(root, leaf.grad) for root, leaf in zip(roots, leaves, strict=True) if root.requires_grad]
        torch.autograd.backward([t for t, g in used if g is not None], [g for _, g in used if g is not None])
        return total / targets.numel()

    def _with_dropped_inputs(self, inputs: Tensor, targets: Tensor, *, step: int) -> float:
        decoder, queries = self.decoder, targets.shape[1]
        if decoder.config.score == "merged":
            return self._reference.loss_and_gradients(inputs, targets, step=step)
        decoder.zero_grad()
        block, total = decoder.layers[0], 0.0
        for part in chunks(inputs.shape[0], self._size(queries)):
            masks = DropoutMasks(seed=self.dropout_seed, step=step, first=part.start)
            x_BSD = functional.embedding(inputs[part], decoder.token_table()) + decoder.position_table()
            x_BSD = masks.apply(x_BSD, decoder.config.dropout.embedding, block=0, site=Site.EMBEDDING)
            y_BQO = attend_dropped(decoder, x_BSD, queries, masks)
            logits = decoder.read_out(block.after_attention(x_BSD[:, -queries:], y_BQO, masks))
            loss = functional.cross_entropy(logits.flatten(0, 1), targets[part].flatten(), reduction="sum")
            torch.autograd.backward(loss / targets.numel())
            total += loss.item()
        return total / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        summed = SummedAttention()
        tables = tabulate(self.decoder)
        rows = arranged(self.decoder, tables, counted)
        for part in chunks(inputs.shape[0], self._size(counted)):
            logits, a_BQHS = self._forward(rows, tables.stream_RO, tables.offset_O, (inputs[part], counted, None))
            visit(part, logits)
            summed.add([a_BQHS.transpose(1, 2)], counted)
        return summed.mean()

    def _size(self, counted: int) -> int:
        """Sequences in a chunk: twice as many of a narrow model, where the number of calls weighs most."""
        return sequences_at_a_time(self.chunk, counted) * (2 if self.decoder.stream <= NARROW else 1)

    def _forward(
        self, rows: Rows, stream_RO: Tensor, offset_O: Tensor, chunk: tuple[Tensor, int, DropoutMasks | None]
    ) -> tuple[Tensor, Tensor]:
        """Logits of the last `queries` positions and attention weights, (B, Q, H, S), of one chunk."""
        tokens_BS, queries, masks = chunk
        block, tokens = self.decoder.layers[0], self.decoder.dictionary
        y_BQO, a_BQHS = self._attention.apply(rows, tokens_BS, queries, masks)
        if offset_O.numel():
            y_BQO = y_BQO + offset_O
        x_BQO = y_BQO
        if self.decoder.config.residual == "on":
            x_BQO = functional.embedding(tokens_BS[:, -queries:], stream_RO[:tokens]) + stream_RO[-queries:]
        return self.decoder.read_out(block.after_attention(x_BQO, y_BQO, masks)), a_BQHS
