"""Any decoder in the compiled kernel: blocks one after the other, forward and backward, a tile of sequences at a time.

As in `kernel_engine`: a step folds the decoder, lets the kernel run over fixed groups of the batch and hands the
gradients of the folded weights to autograd.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import byref

import numpy as np
import torch
from torch import Tensor

from headwise.model import kernel
from headwise.model.batch_groups import groups, spread
from headwise.model.config import DropoutConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import Site
from headwise.model.dropout_keys import site_keys
from headwise.model.engine import AttentionSummary, Visit, chunks, sequences_at_a_time
from headwise.model.folded_blocks import SELDOM, FoldedBlock, Source, fold_blocks
from headwise.model.kernel_sources import STACK
from headwise.model.kernel_structures import Attended, Batch, address
from headwise.model.stack_model import StackModel
from headwise.model.stack_structures import BlockGradients
from headwise.model.tables import Output

TOTALS = 1 << 22
"""Sums in double that all groups of a batch have together, if they can still be two: more would be slow to add up."""


class StackEngine:
    """Runs any float32 decoder on the CPU."""

    name = "kernel"

    def __init__(
        self,
        decoder: Decoder,
        *,
        dropout_seed: int,
        chunk: int,
        source: Source,
        output: Output = "folded",
        threads: int = 1,
    ) -> None:
        self.decoder, self.dropout_seed, self.chunk, self.threads = decoder, dropout_seed, chunk, threads
        self.source, self.output = source, output
        self._library = kernel.library(STACK)
        self._sums: _Sums | None = None
        self.seconds: np.ndarray | None = None
        """Set to zeros of `kernel.STAGES`: training steps on one thread then add up where their time goes."""

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int) -> float:
        rates, decoder = self.decoder.config.dropout, self.decoder
        decoder.zero_grad()
        inputs, targets = inputs.contiguous(), targets.contiguous()
        count, queries = targets.shape
        folded = fold_blocks(decoder, queries, source=self.source, rates=rates, output=self.output)
        weights = [FoldedBlock(*(weight.detach() for weight in block)) for block in folded]
        model = StackModel(decoder, weights, queries=queries, chunk=self.chunk, rates=rates, source=self.source)
        keys = [
            site_keys(rates, seed=self.dropout_seed, step=step, block=block, sequences=count)
            for block in range(len(folded))
        ]
        size = sum(weight.numel() for block in weights for weight in block)
        parts = groups(count, self.chunk, most=max(2, TOTALS // size))
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
        gradients = sums.split(sums.total_GN.sum(0).float())
        used = [
            (w, g) for block, grads in zip(folded, gradients, strict=True) for w, g in zip(block, grads, strict=True)
        ]
        used = [(w, g.view(w.shape)) for w, g in used if w.requires_grad]
        torch.autograd.backward([w for w, _ in used], [g for _, g in used])
        return float(sum(losses)) / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        decoder, inputs, rates = self.decoder, inputs.contiguous(), DropoutConfig()
        weights = fold_blocks(decoder, counted, source=self.source, rates=rates, output=self.output)
        model = StackModel(decoder, weights, queries=counted, chunk=self.chunk, rates=rates, source=self.source)
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

    def _sums_for(self, weights: list[FoldedBlock], parts: int) -> _Sums:
        """Sums that start from zero: those of the last step where they fit, since fresh memory costs page faults."""
        sizes = [[weight.numel() for weight in block] for block in weights]
        if self._sums is None or self._sums.sizes != sizes or len(self._sums.total_GN) != parts:
            self._sums = _Sums(sizes, parts)
        self._sums.total_GN.zero_()
        return self._sums


class _Sums:
    """Gradients of the folded weights of all blocks, side by side: of a chunk in float32, of each group in double."""

    def __init__(self, sizes: list[list[int]], parts: int) -> None:
        self.sizes = sizes
        names = FoldedBlock._fields
        every = [(block, field) for block in range(len(sizes)) for field in range(len(names))]
        # What is added up once and not per chunk comes last.
        order = sorted(every, key=lambda place: names[place[1]] in SELDOM)
        self._seldom = sum(sizes[block][field] for block, field in every if names[field] in SELDOM)
        self._from: dict[tuple[int, int], int] = {}
        self._size = 0
        for block, field in order:
            self._from[block, field] = self._size
            self._size += sizes[block][field]
        self.total_GN = torch.zeros(parts, self._size, dtype=torch.float64)
        self._idle: list[Tensor] = []

    def split(self, joined: Tensor) -> list[list[Tensor]]:
        """Each block's fields."""
        return [
            [joined[self._from[b, f] : self._from[b, f] + size] for f, size in enumerate(block)]
            for b, block in enumerate(self.sizes)
        ]

    @contextmanager
    def of_group(self, group: int) -> Iterator[ctypes.Array[BlockGradients]]:
        """Where one group's gradients go. The kernel leaves a chunk's sums at zero, ready for the next group."""
        part = self._idle.pop() if self._idle else torch.zeros(self._size)
        yield (BlockGradients * len(self.sizes))(
            *(
                BlockGradients(
                    part=part.data_ptr(),
                    total=self.total_GN[group].data_ptr(),
                    size=self._size - self._seldom,
                    seldom=self._seldom,
                    **{name: address(field) for name, field in zip(FoldedBlock._fields, fields, strict=True)},
                )
                for fields in self.split(part)
            )
        )
        self._idle.append(part)
