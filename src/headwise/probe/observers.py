"""What receives the layers of a pass from an adapter: sums for a record, one role's score, or a loss."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from headwise.probe.adapter import Batch, Layer
from headwise.probe.block_sums import BlockSums, lag_chance
from headwise.probe.logits import logits_of
from headwise.probe.look_loss import LookLoss
from headwise.probe.predictor_distances import PredictorDistances
from headwise.probe.role import Role
from headwise.probe.role_sums import RoleSums
from headwise.probe.shown import Shown

if TYPE_CHECKING:
    from headwise.probe.example_maps import ExampleMaps


def token_ids(batch: Batch) -> Tensor | None:
    """The tokens where they are ids, (B, S); `None` for embeddings and other real numbers."""
    tokens = batch.tokens
    return None if tokens.ndim != 2 or tokens.is_floating_point() or tokens.dtype == torch.bool else tokens


class LossAlone:
    """Takes the loss of each pass and nothing else."""

    wants_output = True

    def __init__(
        self,
        model: Any,
        *,
        queries: int | None = None,
        ahead: bool,
        distances: PredictorDistances | None = None,
    ) -> None:
        self.model, self.ahead, self.loss, self.distances = model, ahead, LookLoss(queries), distances
        self._part: Batch | None = None

    def begin(self, part: Batch) -> None:
        """A pass over this part of the batch."""
        self._part = part

    def layer(self, layer: Layer) -> None:
        """Ignored."""

    def output(self, output: Any) -> None:
        """Take the loss of this pass, where its output has logits."""
        assert self._part is not None
        tokens = token_ids(self._part)
        logits = None if tokens is None else logits_of(output, tokens, self.model)
        if logits is not None:
            self.logits(logits, self._part)

    def logits(self, logits_BSV: Tensor, part: Batch) -> None:
        """The logits of this pass."""
        self.loss.add(logits_BSV, part, ahead=self.ahead)
        if self.distances is not None and not self.ahead:
            self.distances.add(logits_BSV)

    def note(self, text: str) -> None:
        """Ignored: the pass over the batch of the looks has noted the same."""


class LayerSums:
    """Adds each layer of a pass to the sums of that layer, over as many passes as the batch needs."""

    wants_output = True

    def __init__(
        self,
        model: Any,
        *,
        queries: int | None,
        lags: int,
        roles: Sequence[Role],
        sequences: int,
        distances: PredictorDistances | None = None,
        examples: ExampleMaps | None = None,
    ) -> None:
        self.queries, self.lags, self.roles, self.sequences = queries, lags, roles, sequences
        self.examples = examples
        self.blocks: list[BlockSums] = []
        self.notes: list[str] = []
        self._even: list[np.ndarray] = []
        self._even_count: list[int] = []
        self._loss = LossAlone(model, queries=queries, ahead=False, distances=distances)
        self._shown: Shown | None = None
        self._part: Batch | None = None
        self._next = self._rows_before = 0

    def begin(self, part: Batch) -> None:
        """Another pass over the same layers, with the next part of the batch."""
        self._rows_before += 0 if self._part is None else self._part.tokens.shape[0]
        self._next, self._shown, self._part = 0, None, part
        self._loss.begin(part)

    def layer(self, layer: Layer) -> None:
        """Add the next layer of this pass."""
        assert self._part is not None
        if self._next == len(self.blocks):
            block = BlockSums(layer, queries=self.queries, lags=self.lags, roles=self.roles, sequences=self.sequences)
            self.blocks.append(block)
            self._even.append(np.zeros(2 * block.keys - 1))
            self._even_count.append(0)
        self._shown = self.blocks[self._next].add(layer, token_ids(self._part), self._shown)
        if self.examples is not None:
            rows = self._part.tokens.shape[0]
            self.examples.add(self._next, layer, first_row=self._rows_before, rows=rows)
        self._loss.ahead = self._loss.ahead or self._shown.ahead
        even, count = lag_chance(self._shown)
        self._even[self._next] += even
        self._even_count[self._next] += count
        self._next += 1

    def output(self, output: Any) -> None:
        """Take the loss of this pass."""
        self._loss.output(output)

    def note(self, text: str) -> None:
        """Keep a note for the reader of the result."""
        self.notes.append(text)

    @property
    def ahead(self) -> bool:
        """Whether any layer looks ahead."""
        return self._loss.ahead

    @property
    def loss(self) -> LookLoss:
        """The loss on the batch."""
        return self._loss.loss

    def lag_chance(self) -> np.ndarray:
        """Even attention by lag in each layer, (blocks, lags), for every lag of a square map, ascending."""
        return np.stack([even / max(count, 1) for even, count in zip(self._even, self._even_count, strict=True)])


class RoleAlone:
    """Scores one role in every layer of one pass and keeps nothing else."""

    wants_output = False

    def __init__(self, role: Role, batch: Batch) -> None:
        self.role, self.batch = role, batch
        self.layers: list[RoleSums] = []
        self._shown: Shown | None = None

    def layer(self, layer: Layer) -> None:
        """Score the next layer of this pass; nothing where its attention is not that of the sequences shown."""
        sums = BlockSums(layer, queries=None, lags=1, roles=(self.role,))
        rows, _, queries, keys = layer.attention_BHQK.shape
        if (rows, keys) == tuple(self.batch.tokens.shape) and queries == keys:
            self._shown = sums.add(layer, token_ids(self.batch), self._shown)
        self.layers.append(sums.roles)

    def output(self, output: Any) -> None:
        """Ignored: the loss on these sequences means nothing."""

    def note(self, text: str) -> None:
        """Ignored: the pass over the user's batch has noted the same."""
