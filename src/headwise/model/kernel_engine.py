"""The fastest path on a CPU: the kernel for attention, norms, dropout and loss, torch for the matrix products between.

A step folds the decoder into tables and padded matrices, runs chunk by chunk through buffers that are allocated once,
sums each chunk's gradients in float32 and all chunks in double, and hands the sums to autograd. Chunks are dealt into
a fixed number of groups that are summed in a fixed order, so the result does not depend on how many threads share
them.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from headwise.model import kernel
from headwise.model.chunk import Chunk, Keys, Sums
from headwise.model.decoder import Decoder
from headwise.model.dropout import Site, stream_keys, threshold
from headwise.model.engine import AttentionSummary, Visit, chunks, sequences_at_a_time
from headwise.model.folded import Folded, fold
from headwise.model.tabulated import TabulatedEngine

GROUPS = 8


class KernelEngine:
    """Runs a float32 decoder on the CPU for which `tables.additive` holds."""

    name = "kernel"

    def __init__(self, decoder: Decoder, *, dropout_seed: int, chunk: int, threads: int = 1) -> None:
        path = kernel.library_path()
        if path is None:
            raise FileNotFoundError("the kernel is not built")
        self.decoder, self.dropout_seed, self.chunk, self.threads = decoder, dropout_seed, chunk, threads
        self._library = kernel.load(path)
        self._tabulated = TabulatedEngine(decoder, dropout_seed=dropout_seed, chunk=chunk)

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int) -> float:
        if threshold(self.decoder.config.dropout.embedding):
            return self._tabulated.loss_and_gradients(inputs, targets, step=step)
        self.decoder.zero_grad()
        folded = fold(self.decoder)
        weights = Folded(*(weight.detach() for weight in folded))
        inputs, targets = inputs.contiguous(), targets.contiguous()
        keys = self._keys(inputs.shape[0], step)
        queries = targets.shape[1]
        size = sequences_at_a_time(self.chunk, queries)
        parts = list(chunks(inputs.shape[0], size))

        def run(group: list[slice]) -> tuple[float, Tensor]:
            sums = Sums(weights)
            chunk = Chunk(self._library, self.decoder, weights, sequences=size, queries=queries, sums=sums)
            loss = 0.0
            for part in group:
                here = {site: key[part] for site, key in keys.items()}
                loss += chunk.loss_and_gradients(inputs[part], targets[part], here, 1.0 / targets.numel())
            return loss, sums.total

        losses, totals = zip(*self._spread(run, dealt(parts)), strict=True)
        total = torch.stack(totals).sum(0).to(self.decoder.dtype)
        gradients = torch.split(total, [weight.numel() for weight in folded])
        used = [(w, g.view(w.shape)) for w, g in zip(folded, gradients, strict=True) if w.requires_grad]
        torch.autograd.backward([w for w, _ in used], [g for _, g in used])
        return float(sum(losses)) / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        decoder = self.decoder
        weights = fold(decoder)
        size = sequences_at_a_time(self.chunk, counted)
        chunk = Chunk(self._library, decoder, weights, sequences=size, queries=counted, sums=None)
        inputs = inputs.contiguous()
        map_HSQ = torch.zeros(chunk.weights.shape[1:])
        total_HSQ = torch.zeros(chunk.weights.shape[1:], dtype=torch.float64)
        entropy_H = torch.zeros(decoder.config.heads, dtype=torch.float64)
        chunk.attention.map, chunk.attention.entropy = map_HSQ.data_ptr(), entropy_H.data_ptr()
        for part in chunks(inputs.shape[0], size):
            stream = chunk.forward(inputs[part], {})
            if weights.read.numel():
                logits = torch.empty(stream.shape[0], weights.read.shape[0])
                chunk.read(stream, logits)
            else:
                logits = stream.clone()
            visit(part, logits.view(-1, counted, logits.shape[1])[..., : decoder.dictionary])
            self._library.headwise_drain(map_HSQ.data_ptr(), total_HSQ.data_ptr(), map_HSQ.numel())
        map_HQS = total_HSQ[:, : decoder.positions, :counted].transpose(1, 2) / inputs.shape[0]
        return AttentionSummary(map_HQS[None], entropy_H[None] / (inputs.shape[0] * counted))

    def _spread(
        self, run: Callable[[list[slice]], tuple[float, Tensor]], groups: list[list[slice]]
    ) -> list[tuple[float, Tensor]]:
        """Each group's result, in the order of the groups, whoever computes them."""
        if self.threads == 1:
            return [run(group) for group in groups]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(run, groups))

    def _keys(self, sequences: int, step: int) -> Keys:
        rates = self.decoder.config.dropout
        sites = {
            Site.ATTENTION: rates.attention,
            Site.ATTENTION_BRANCH: rates.attention_branch,
            Site.MLP: rates.mlp,
            Site.MLP_BRANCH: rates.mlp_branch,
        }
        every = np.arange(sequences)
        return {
            site: stream_keys(seed=self.dropout_seed, step=step, block=0, site=site, sequences=every)
            for site, rate in sites.items()
            if threshold(rate)
        }


def dealt(parts: list[slice]) -> list[list[slice]]:
    """Consecutive chunks in at most `GROUPS` groups of nearly equal size."""
    count = min(GROUPS, len(parts))
    return [parts[len(parts) * g // count : len(parts) * (g + 1) // count] for g in range(count)]
