"""The portable fast path: tables instead of projections, a chunk of sequences at a time, in pure torch.

Attention logits are gathered from the score table, value rows from the value table; everything after attention is the
decoder's own code. Autograd runs through each chunk down to the tables and once per step from the tables to the
weights. Dropout on embeddings breaks the additive form; such a step runs on the reference instead.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks, Site, threshold
from headwise.model.engine import AttentionSummary, SummedAttention, Visit, chunks, sequences_at_a_time
from headwise.model.reference import ReferenceEngine
from headwise.model.tables import Tables, tabulate


class TabulatedEngine:
    """Runs a decoder for which `tables.additive` holds, on any device and in any precision."""

    name = "torch"

    def __init__(self, decoder: Decoder, *, dropout_seed: int, chunk: int) -> None:
        self.decoder, self.dropout_seed, self.chunk = decoder, dropout_seed, chunk
        self._reference = ReferenceEngine(decoder, dropout_seed=dropout_seed, chunk=chunk)

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int) -> float:
        if threshold(self.decoder.config.dropout.embedding):
            return self._reference.loss_and_gradients(inputs, targets, step=step)
        self.decoder.zero_grad()
        tables = tabulate(self.decoder)
        leaves = Tables(*(table.detach().requires_grad_() for table in tables))
        total = 0.0
        for part in chunks(inputs.shape[0], sequences_at_a_time(self.chunk, targets.shape[1])):
            masks = DropoutMasks(seed=self.dropout_seed, step=step, first=part.start)
            logits, _ = self._forward(leaves, inputs[part], targets.shape[1], masks)
            loss = functional.cross_entropy(logits.flatten(0, 1), targets[part].flatten(), reduction="sum")
            torch.autograd.backward(loss / targets.numel())
            total += loss.item()
        used = [(table, leaf.grad) for table, leaf in zip(tables, leaves, strict=True) if table.requires_grad]
        torch.autograd.backward([t for t, g in used if g is not None], [g for _, g in used if g is not None])
        return total / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        summed = SummedAttention()
        tables = tabulate(self.decoder)
        for part in chunks(inputs.shape[0], sequences_at_a_time(self.chunk, counted)):
            logits, a_BHQS = self._forward(tables, inputs[part], counted, None)
            visit(part, logits)
            summed.add([a_BHQS], counted)
        return summed.mean()

    def _forward(
        self, tables: Tables, tokens_BS: Tensor, queries: int, masks: DropoutMasks | None
    ) -> tuple[Tensor, Tensor]:
        """Logits of the last `queries` positions and attention weights, of one chunk."""
        block, tokens = self.decoder.layers[0], self.decoder.dictionary
        config, attention = self.decoder.config, block.attention
        rows, positions = tokens_BS.shape
        heads = config.heads
        tokens_BQ = tokens_BS[:, -queries:]

        query_RHR = tables.score_HRR.transpose(0, 1)
        left_BQHR = functional.embedding(tokens_BQ, query_RHR[:tokens].flatten(1)).view(rows, queries, heads, -1)
        left_BQHR = left_BQHR + query_RHR[-queries:]
        index_BQHS = tokens_BS[:, None, None].expand(rows, queries, heads, positions)
        s_BQHS = left_BQHR[..., tokens:] + left_BQHR.gather(-1, index_BQHS)
        lag_QS = attention.lag_SS[-queries:]
        hidden_QS = lag_QS < 1
        if config.context is not None:
            hidden_QS = hidden_QS | (lag_QS > config.context)
        a_BHQS = s_BQHS.masked_fill(hidden_QS[:, None], -math.inf).softmax(-1).transpose(1, 2)
        used_BHQS = a_BHQS
        if masks is not None:
            used_BHQS = masks.apply(a_BHQS, config.dropout.attention, block=0, site=Site.ATTENTION)

        head_H1 = torch.arange(heads, device=tokens_BS.device)[:, None] * tokens
        v_BHSO = functional.embedding(head_H1 + tokens_BS[:, None], tables.value_HRO[:, :tokens].flatten(0, 1))
        v_BHSO = v_BHSO + tables.value_HRO[:, tokens:]
        y_BQO = used_BHQS.transpose(1, 2).flatten(2) @ v_BHSO.flatten(1, 2)
        if tables.offset_O.numel():
            y_BQO = y_BQO + tables.offset_O
        x_BQO = y_BQO
        if config.residual == "on":
            x_BQO = functional.embedding(tokens_BQ, tables.stream_RO[:tokens]) + tables.stream_RO[-queries:]
        return self.decoder.read_out(block.after_attention(x_BQO, y_BQO, masks)), a_BHQS
