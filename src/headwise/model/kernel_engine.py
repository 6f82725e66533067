"""The fastest path on a CPU: the whole decoder, forward and backward, in the compiled kernel.

A step folds the decoder into tables and padded matrices, lets the kernel run over the batch and hands the gradients of
the folded weights to autograd. What the first block's attention reads is decided anew for every batch, by its sizes
alone (`plan`). The batch is dealt into a fixed number of groups whose sums are added in a fixed order, so the result
does not depend on how many threads share the groups. Inside a group the kernel sums a chunk's gradients in float32 and
the chunks in double, because plain float32 sums grow less exact with the batch.
"""

from __future__ import annotations

from ctypes import byref

import numpy as np
import torch
from torch import Tensor

from headwise.model import kernel
from headwise.model.batch_groups import GROUPS, groups, spread
from headwise.model.config import DropoutConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import Site
from headwise.model.dropout_keys import site_keys
from headwise.model.engine import AttentionSummary, Visit, chunks, sequences_at_a_time
from headwise.model.folded_blocks import FoldedBlock, Source, fold_blocks
from headwise.model.gradient_sums import GradientSums
from headwise.model.handled import require_handled
from headwise.model.kernel_model import KernelModel
from headwise.model.kernel_structures import Attended, Batch
from headwise.model.plan import Plan, plan
from headwise.model.seen_tokens import seen_tokens
from headwise.model.tables import Output

TOTALS = 1 << 22
"""Sums in double that all groups of a batch have together, if they can still be two: more would be slow to add up."""


class KernelEngine:
    """Runs a float32 decoder that the fast paths handle (`handled`), on the CPU.

    `source` and `output` fix what is otherwise planned; a source that only a training step can have leaves
    evaluations to the plan.
    """

    name = "kernel"

    def __init__(
        self,
        decoder: Decoder,
        *,
        dropout_seed: int,
        chunk: int,
        threads: int = 1,
        source: Source | None = None,
        output: Output | None = None,
    ) -> None:
        require_handled(decoder.config)
        self.decoder, self.dropout_seed, self.chunk, self.threads = decoder, dropout_seed, chunk, threads
        self.source, self.output = source, output
        self.seconds: np.ndarray | None = None
        """Set to zeros of `kernel.STAGES`: training steps on one thread then add up where their time goes."""
        self._library = kernel.library()
        self._sums: GradientSums | None = None
        self._plans: dict[tuple[int, int, bool, int | None, bool, str], Plan] = {}

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int, dropout: bool = True) -> float:
        decoder = self.decoder
        rates = decoder.config.dropout if dropout else DropoutConfig()
        decoder.zero_grad()
        inputs, targets = inputs.contiguous(), targets.contiguous()
        count, queries = targets.shape
        tokens, inputs = seen_tokens(inputs, decoder.dictionary) or (None, inputs)
        token_rows = decoder.dictionary if tokens is None else len(tokens)
        source, output = self.planned(batch=count, queries=queries, training=True, tokens=token_rows, dropout=dropout)
        folded = fold_blocks(decoder, queries, source=source, rates=rates, output=output, tokens=tokens)
        weights = [FoldedBlock(*(w.detach() if w.requires_grad else w for w in block)) for block in folded]
        model = KernelModel(
            decoder, weights, queries=queries, chunk=self.chunk, rates=rates, source=source, token_rows=token_rows
        )
        keys = [
            site_keys(rates, seed=self.dropout_seed, step=step, block=block, sequences=count)
            for block in range(len(folded))
        ]
        parts = groups(count, self.chunk, most=_most_groups(weights, source))
        sums = self._sums_for(weights, len(parts))

        def run(index: int) -> float:
            batches = (Batch * len(folded))(
                *(
                    Batch(
                        first=parts[index].start,
                        last=parts[index].stop,
                        tokens=inputs.data_ptr(),
                        targets=targets.data_ptr(),
                        keys=tuple(int(found[site].ctypes.data) if site in found else None for site in Site),
                        weight=1.0 / targets.numel(),
                        seconds=None if self.seconds is None else int(self.seconds.ctypes.data),
                    )
                    for found in keys
                )
            )
            with sums.of_group(index) as gradients:
                return float(self._library.headwise_train(byref(model.structure), batches, gradients))

        losses = spread(run, len(parts), threads=self.threads)
        gradients = sums.split(sums.added())
        used = [
            (w, g) for block, grads in zip(folded, gradients, strict=True) for w, g in zip(block, grads, strict=True)
        ]
        used = [(w, g.view(w.shape)) for w, g in used if w.requires_grad]
        torch.autograd.backward([w for w, _ in used], [g for _, g in used])
        return float(sum(losses)) / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        decoder, inputs, rates = self.decoder, inputs.contiguous(), DropoutConfig()
        tokens, inputs = seen_tokens(inputs, decoder.dictionary) or (None, inputs)
        token_rows = decoder.dictionary if tokens is None else len(tokens)
        source, output = self.planned(batch=inputs.shape[0], queries=counted, training=False, tokens=token_rows)
        weights = fold_blocks(decoder, counted, source=source, rates=rates, output=output, tokens=tokens)
        model = KernelModel(
            decoder, weights, queries=counted, chunk=self.chunk, rates=rates, source=source, token_rows=token_rows
        )
        heads, count = decoder.config.heads, len(weights)
        shapes = [(heads, block.keys_pitch, block.queries_pitch) for block in model.blocks]
        maps, totals = [torch.zeros(s) for s in shapes], [torch.zeros(s, dtype=torch.float64) for s in shapes]
        entropy_LH = torch.zeros(count, heads, dtype=torch.float64)
        for part in chunks(inputs.shape[0], sequences_at_a_time(self.chunk, counted)):
            logits = torch.empty(part.stop - part.start, counted, decoder.dictionary)
            batches = (Batch * count)(
                *(Batch(first=part.start, last=part.stop, tokens=inputs.data_ptr()) for _ in range(count))
            )
            watch = (Attended * count)(
                *(
                    Attended(
                        logits=logits.data_ptr(),
                        map=maps[block].data_ptr(),
                        map_total=totals[block].data_ptr(),
                        entropy=entropy_LH[block].data_ptr(),
                        counted=counted,
                    )
                    for block in range(count)
                )
            )
            self._library.headwise_evaluate(byref(model.structure), batches, watch)
            visit(part, logits)
        seen = [
            total_HSQ[:, : decoder.positions, block.queries - counted : block.queries].transpose(1, 2)
            for total_HSQ, block in zip(totals, model.blocks, strict=True)
        ]
        return AttentionSummary(torch.stack(seen) / inputs.shape[0], entropy_LH / (inputs.shape[0] * counted))

    def planned(
        self, *, batch: int, queries: int, training: bool, tokens: int | None = None, dropout: bool = True
    ) -> Plan:
        """How a batch of these sizes is computed; `tokens` have rows in tables, by default all.

        Kept from step to step: planning takes a tenth of a step of 64 sequences of a minimal model.
        """
        level = kernel.LEVELS[self._library.headwise_level()]
        sizes = batch, queries, training, tokens, dropout, level
        if sizes not in self._plans:
            self._plans[sizes] = plan(
                self.decoder,
                batch=batch,
                queries=queries,
                chunk=self.chunk,
                training=training,
                dropout=dropout,
                tokens=tokens,
                source=self.source,
                output=self.output,
                level=level,
            )
        return self._plans[sizes]

    def _sums_for(self, weights: list[FoldedBlock], parts: int) -> GradientSums:
        """Sums that start from zero: those of the last step where they fit, since fresh memory costs page faults."""
        sizes = [[weight.numel() for weight in block] for block in weights]
        if self._sums is None or self._sums.sizes != sizes or len(self._sums.total_GN) != parts:
            self._sums = GradientSums(sizes, parts)
        self._sums.total_GN.zero_()
        return self._sums


def _most_groups(weights: list[FoldedBlock], source: Source) -> int:
    """How many groups a batch is dealt into at most: fewer where the folded weights are many."""
    if len(weights) == 1 and source in ("tables", "dropped"):
        return GROUPS
    return max(2, TOTALS // sum(weight.numel() for block in weights for weight in block))
