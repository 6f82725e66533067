"""The fastest path on a CPU: the whole block, forward and backward, in the compiled kernel.

A step folds the decoder into tables and padded matrices, lets the kernel run over the batch and hands the gradients of
the folded weights to autograd. The batch is dealt into a fixed number of groups whose sums are added in a fixed order,
so the result does not depend on how many threads share the groups. Inside a group the kernel sums a chunk's gradients
in float32 and the chunks in double, because plain float32 sums grow less exact with the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from ctypes import byref
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from headwise.model import kernel
from headwise.model.config import DropoutConfig
from headwise.model.decoder import Decoder
from headwise.model.dropout import Site, kept_scale, stream_keys, threshold
from headwise.model.engine import AttentionSummary, Visit, chunks, sequences_at_a_time
from headwise.model.folded import COLUMNS, LANES, Folded, eights, fold, output_place, padded, pitch, rows
from headwise.model.tables import Output

GROUPS = 8
TILE = 128
TILE_BYTES = 3 << 16
"""Sequences that go through the block together, and bytes of one of their activations: several fit the second cache."""
ALONE_BYTES = 5 << 13
"""Where there is nothing but attention, sequences go through it one by one, all of a tile to the values' gradients."""


class KernelEngine:
    """Runs a float32 decoder on the CPU for which `tables.additive` holds."""

    name = "kernel"

    def __init__(
        self, decoder: Decoder, *, dropout_seed: int, chunk: int, threads: int = 1, output: Output | None = None
    ) -> None:
        self.decoder, self.dropout_seed, self.chunk, self.threads = decoder, dropout_seed, chunk, threads
        self.output = output
        """Where the output matrix is, by default wherever it costs less."""
        self._library = kernel.library()
        self._sums: Sums | None = None
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
        laid = Laid(self.decoder, weights, queries=queries, chunk=self.chunk, rates=rates)
        keys = site_keys(rates, seed=self.dropout_seed, step=step, sequences=count)

        parts = groups(count, self.chunk)
        sums = self._sums_for(weights, len(parts))

        def run(index: int) -> float:
            group = parts[index]
            batch = kernel.Batch(
                first=group.start,
                last=group.stop,
                tokens=inputs.data_ptr(),
                targets=targets.data_ptr(),
                keys=tuple(int(keys[site].ctypes.data) if site in keys else None for site in Site),
                weight=1.0 / targets.numel(),
                seconds=None if self.seconds is None else int(self.seconds.ctypes.data),
            )
            with sums.of_group(index) as gradients:
                return float(self._library.headwise_train(byref(laid.model), byref(batch), byref(gradients)))

        losses = self._spread(run, len(parts))
        gradients = torch.split(sums.total_GN.sum(0).float(), sums.sizes)
        used = [(w, g.view(w.shape)) for w, g in zip(folded, gradients, strict=True) if w.requires_grad]
        torch.autograd.backward([w for w, _ in used], [g for _, g in used])
        return float(sum(losses)) / targets.numel()

    @torch.no_grad()
    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        decoder, inputs = self.decoder, inputs.contiguous()
        output = self.output or output_place(decoder, counted)
        weights = fold(decoder, counted, embedding_dropout=0.0, output=output)
        laid = Laid(decoder, weights, queries=counted, chunk=self.chunk, rates=DropoutConfig())
        shape = (decoder.config.heads, laid.model.keys_pitch, laid.model.queries_pitch)
        map_HSQ, total_HSQ = torch.zeros(shape), torch.zeros(shape, dtype=torch.float64)
        entropy_H = torch.zeros(decoder.config.heads, dtype=torch.float64)
        for part in chunks(inputs.shape[0], sequences_at_a_time(self.chunk, counted)):
            logits = torch.empty(part.stop - part.start, counted, decoder.dictionary)
            batch = kernel.Batch(first=part.start, last=part.stop, tokens=inputs.data_ptr())
            watch = kernel.Attended(
                logits=logits.data_ptr(),
                map=map_HSQ.data_ptr(),
                map_total=total_HSQ.data_ptr(),
                entropy=entropy_H.data_ptr(),
            )
            self._library.headwise_evaluate(byref(laid.model), byref(batch), byref(watch))
            visit(part, logits)
        map_HQS = total_HSQ[:, : decoder.positions, :counted].transpose(1, 2) / inputs.shape[0]
        return AttentionSummary(map_HQS[None], entropy_H[None] / (inputs.shape[0] * counted))

    def _spread(self, run: Callable[[int], float], parts: int) -> list[float]:
        """Each part's result, in the order of the parts, whoever computes them."""
        if self.threads == 1:
            return [run(part) for part in range(parts)]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(run, range(parts)))

    def _sums_for(self, folded: Folded, parts: int) -> Sums:
        """Sums that start from zero: those of the last step where they fit, since fresh memory costs page faults."""
        sizes = [weight.numel() for weight in folded]
        if self._sums is None or self._sums.sizes != sizes or len(self._sums.total_GN) != parts:
            self._sums = Sums(sizes, parts)
        self._sums.total_GN.zero_()
        return self._sums


class Laid:
    """A folded decoder as the kernel's structure, together with the tensors behind its addresses."""

    def __init__(self, decoder: Decoder, folded: Folded, *, queries: int, chunk: int, rates: DropoutConfig) -> None:
        config, block = decoder.config, decoder.layers[0]
        wide, positions = pitch(block.writes), decoder.positions
        size = decoder.stream if config.score == "merged" else block.attention.query_HED.shape[1]
        apart = folded.output_t.numel() > 0
        value_columns = block.attention.value_HED.shape[1] if apart else block.writes
        # A head's last vector may run past its own columns.
        mixed_pitch = pitch(config.heads * value_columns + LANES) if apart else wide
        self.tensors = {
            **folded._asdict(),
            "output": rows(folded.output_t[:, : block.writes].T, mixed_pitch) if apart else folded.output_t,
            "hidden": rows(folded.hidden_t[:, : config.mlp].T if config.mlp else folded.hidden_t, wide),
            "back_t": rows(folded.back[:, : config.mlp].T if config.mlp else folded.back, wide),
            "read": rows(folded.read_t[:, : decoder.dictionary].T if folded.read_t.numel() else folded.read_t, wide),
        }
        more = config.mlp > 0 or folded.read_t.numel() > 0 or apart
        fitting = max(1, min(TILE, (TILE_BYTES if more else ALONE_BYTES) // (4 * wide * queries)))
        tile = fitting if more or not folded.project.numel() else 1
        by_site = (rates.embedding, rates.attention, rates.attention_branch, rates.mlp, rates.mlp_branch)
        self.model = kernel.Model(
            positions=positions,
            queries=queries,
            heads=config.heads,
            dictionary=decoder.dictionary,
            rows=decoder.dictionary + positions,
            writes=block.writes,
            units=config.mlp,
            context=min(config.context or positions, positions),
            tokens_pitch=eights(decoder.dictionary),
            score_pitch=eights(decoder.dictionary) + eights(queries),
            writes_pitch=wide,
            keys_pitch=eights(positions),
            queries_pitch=eights(queries),
            units_pitch=padded(config.mlp),
            read_pitch=padded(decoder.dictionary),
            value_columns=value_columns,
            value_pitch=pitch(value_columns),
            mixed_pitch=mixed_pitch,
            head_size=size if folded.project.numel() else 0,
            score_blocks=-(-config.heads * size // COLUMNS) if folded.project.numel() else 0,
            value_blocks=-(-block.writes // COLUMNS) if folded.project.numel() else 0,
            project_rows=decoder.dictionary + positions + block.writes,
            residual=config.residual == "on",
            norm=config.norm == "post",
            together=tile if more else 1,
            tile=tile,
            chunk=sequences_at_a_time(chunk, queries),
            epsilon=block.norm_attention.eps if config.norm == "post" else 0.0,
            drops=tuple(kernel.Drop(threshold(rate), kept_scale(rate)) for rate in by_site),
            **{name: kernel.address(tensor) for name, tensor in self.tensors.items()},
        )


class Sums:
    """Gradients of the folded weights, side by side: of a chunk in float32, of each group of chunks in double."""

    def __init__(self, sizes: list[int], parts: int) -> None:
        self.sizes = sizes
        self.total_GN = torch.zeros(parts, sum(sizes), dtype=torch.float64)
        self._idle: list[tuple[Tensor, dict[str, int | None]]] = []

    @contextmanager
    def of_group(self, group: int) -> Iterator[kernel.Gradients]:
        """Where one group's gradients go. The kernel leaves a chunk's sums at zero, ready for the next group."""
        part, addresses = self._idle.pop() if self._idle else self._fresh()
        yield kernel.Gradients(
            part=part.data_ptr(), total=self.total_GN[group].data_ptr(), size=part.numel(), **addresses
        )
        self._idle.append((part, addresses))

    def _fresh(self) -> tuple[Tensor, dict[str, int | None]]:
        """Room for a chunk's sums, and where in it each weight's gradient lies."""
        part = torch.zeros(sum(self.sizes), dtype=torch.float32)
        fields = zip(Folded._fields, torch.split(part, self.sizes), strict=True)
        return part, {name: kernel.address(field) for name, field in fields}


def site_keys(rates: DropoutConfig, *, seed: int, step: int, sequences: int) -> dict[Site, np.ndarray]:
    """Keys of the dropout streams, one per sequence, of every site that drops anything."""
    by_site = {
        Site.EMBEDDING: rates.embedding,
        Site.ATTENTION: rates.attention,
        Site.ATTENTION_BRANCH: rates.attention_branch,
        Site.MLP: rates.mlp,
        Site.MLP_BRANCH: rates.mlp_branch,
    }
    every = np.arange(sequences)
    return {
        site: stream_keys(seed=seed, step=step, block=0, site=site, sequences=every)
        for site, rate in by_site.items()
        if threshold(rate)
    }


def groups(sequences: int, chunk: int) -> list[slice]:
    """At most `GROUPS` consecutive ranges of nearly equal size, in whole chunks."""
    whole = -(-sequences // chunk)
    count = min(GROUPS, whole)
    edges = [min(sequences, whole * g // count * chunk) for g in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]
