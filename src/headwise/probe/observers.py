"""What receives the layers of a pass from an adapter: sums for a record, or induction scores alone."""

from __future__ import annotations

import numpy as np

from headwise.probe.adapter import Layer
from headwise.probe.block_sums import BlockSums, induction_score


class LayerSums:
    """Adds each layer of a pass to the sums of that layer, over as many passes as the batch needs."""

    def __init__(self, queries: int | None) -> None:
        self.queries = queries
        self.blocks: list[BlockSums] = []
        self.notes: list[str] = []
        self._next = 0

    def begin(self) -> None:
        """Another pass over the same layers."""
        self._next = 0

    def layer(self, layer: Layer) -> None:
        """Add the next layer of this pass."""
        if self._next == len(self.blocks):
            self.blocks.append(BlockSums(layer, queries=self.queries))
        self.blocks[self._next].add(layer)
        self._next += 1

    def note(self, text: str) -> None:
        """Keep a note for the reader of the result."""
        self.notes.append(text)


class InductionScores:
    """Keeps the induction score of each layer and nothing else."""

    def __init__(self, period: int) -> None:
        self.period = period
        self.scores: list[np.ndarray] = []

    def layer(self, layer: Layer) -> None:
        """Score the next layer of this pass."""
        self.scores.append(induction_score(layer.attention_BHQK, self.period))

    def note(self, text: str) -> None:
        """Ignored: the pass over the user's batch has noted the same."""
