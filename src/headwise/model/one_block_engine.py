"""One block on tables, forward and backward, in the compiled kernel.

A step folds the decoder into tables and padded matrices, lets the kernel run over the batch and hands the gradients of
the folded weights to autograd. The batch is dealt into a fixed number of groups whose sums are added in a fixed order,
so the result does not depend on how many threads share the groups. Inside a group the kernel sums a chunk's gradients
in float32 and the chunks in double, because plain float32 sums grow less exact with the batch.
"""

from __future__ import annotations

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
from headwise.model.folded import Folded, fold, output_place
from headwise.model.gradient_sums import GradientSums
from headwise.model.kernel_model import KernelModel
from headwise.model.kernel_structures import Attended, Batch
from headwise.model.tables import Output


class OneBlockEngine:
    """Runs a float32 decoder of one block without a norm before it, on the CPU."""

    name = "kernel"

    def __init__(
        self, decoder: Decoder, *, dropout_seed: int, chunk: int, threads: int = 1, output: Output | None = None
    ) -> None:
        self.decoder, self.dropout_seed, self.chunk, self.threads = decoder, dropout_seed, chunk, threads
        self.output = output
        """Where the output matrix is, by default wherever it costs less."""
        self._library = kernel.library()
        self._sums: GradientSums | None = None
        self.seconds: np.ndarray | None = None
        """Set to zeros of `kernel.STAGES`: training steps on one thread then add up where their time goes."""

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int) -> float:
        rates = self.decoder.config.dropout
        self.decoder.zero_grad()
        inputs, targets = inputs.contiguous(), targets.contiguous()
        count, queries = targets.shape
        output = self.output or output_place(self.decoder, queries)
        folded = fold(self.decoder, queries, embedding_dropout=rates.embedding, output=output)
        weights = Folded(*(weight.detach() for weight in folded))
        model = KernelModel(self.decoder, weights, queries=queries, chunk=self.chunk, rates=rates)
        keys = site_keys(rates, seed=self.dropout_seed, step=step, block=0, sequences=count)

        parts = groups(count, self.chunk)
        sums = self._sums_for(weights, len(parts))

        def run(index: int) -> float:
            group = parts[index]
            batch = Batch(
                first=group.start,
                last=group.stop,
                tokens=inputs.data_ptr(),
                targets=targets.data_ptr(),
                keys=tuple(int(keys[site].ctypes.data) if site in keys else None for site in Site),
                weight=1.0 / targets.numel(),
                seconds=None if self.seconds is None else int(self.seconds.ctypes.data),
            )
            with sums.of_group(index) as gradients:
                return float(self._library.headwise_train(byref(model.structure), byref(batch), byref(gradients)))

        losses = spread(run, len(parts), threads=self.threads)
        gradients = torch.split(sums.total_GN.sum(0).float(), sums.sizes)
        used = [(w, g.view(w.shape)) for w, g in zip(folded, gradients, strict=True) if w.requires_grad]
        torch.autograd.backward([w for w, _ in used], [g for _, g in used])
        return float(sum(losses)) / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        decoder, inputs = self.decoder, inputs.contiguous()
        output = self.output or output_place(decoder, counted)
        weights = fold(decoder, counted, embedding_dropout=0.0, output=output)
        model = KernelModel(decoder, weights, queries=counted, chunk=self.chunk, rates=DropoutConfig())
        shape = (decoder.config.heads, model.structure.keys_pitch, model.structure.queries_pitch)
        map_HSQ, total_HSQ = torch.zeros(shape), torch.zeros(shape, dtype=torch.float64)
        entropy_H = torch.zeros(decoder.config.heads, dtype=torch.float64)
        for part in chunks(inputs.shape[0], sequences_at_a_time(self.chunk, counted)):
            logits = torch.empty(part.stop - part.start, counted, decoder.dictionary)
            batch = Batch(first=part.start, last=part.stop, tokens=inputs.data_ptr())
            watch = Attended(
                logits=logits.data_ptr(),
                map=map_HSQ.data_ptr(),
                map_total=total_HSQ.data_ptr(),
                entropy=entropy_H.data_ptr(),
            )
            self._library.headwise_evaluate(byref(model.structure), byref(batch), byref(watch))
            visit(part, logits)
        map_HQS = total_HSQ[:, : decoder.positions, :counted].transpose(1, 2) / inputs.shape[0]
        return AttentionSummary(map_HQS[None], entropy_H[None] / (inputs.shape[0] * counted))

    def _sums_for(self, folded: Folded, parts: int) -> GradientSums:
        """Sums that start from zero: those of the last step where they fit, since fresh memory costs page faults."""
        sizes = [weight.numel() for weight in folded]
        if self._sums is None or self._sums.sizes != sizes or len(self._sums.total_GN) != parts:
            self._sums = GradientSums(sizes, parts)
        self._sums.total_GN.zero_()
        return self._sums
