"""Attention on a few sequences of the batch, kept whole, to be read with their tokens beside it.

Sums over a batch say what a head does on the whole; an example shows it at work. Of each example the first tokens are
kept, as many as `kept_length` allows, so that a look costs memory by the kept examples and never by the batch. Shares
are kept as multiples of 1/1024, which is finer than a colour shows and a quarter of the size in a page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch, Layer
from headwise.probe.observers import token_ids
from headwise.probe.token_labels import token_labels

LONGEST, SHORTEST = 64, 16
"""Tokens of an example that are kept at most, and at least if it has them."""
NUMBERS = 300_000
"""Shares that one look keeps: 32 tokens of two examples for 144 heads."""
RESOLUTION = 1024


class ExampleMaps:
    """Takes the maps of some sequences out of each layer of a look."""

    def __init__(self, batch: Batch, rows: Sequence[int], *, decode: Any = None) -> None:
        self.rows = tuple(rows)
        valid = batch.valid_BS
        positions = batch.tokens.shape[1]
        self._ends: list[int] = []
        self._starts: list[int] = []
        for row in self.rows:
            real = torch.ones(positions, dtype=torch.bool) if valid is None else valid[row].cpu()
            places = real.nonzero()[:, 0].tolist()
            self._starts.append(places[0] if places else 0)
            self._ends.append(places[-1] + 1 if places else 0)
        self.length = min(LONGEST, max(end - start for start, end in zip(self._starts, self._ends, strict=True)))
        ids = token_ids(batch)
        self._ids = None if ids is None else [ids[row].tolist() for row in self.rows]
        self._labels: dict[int, str] = {}
        if decode is not None:
            if self._ids is None:
                raise ConfigError("decode turns token ids into text, and these tokens are no ids; leave it out")
            self._labels = token_labels(decode, {token for row in self._ids for token in row})
        self._layers: list[list[np.ndarray | None]] = []
        self._fixed = False

    def begin(self) -> None:
        """A new look."""
        self._layers = []

    def add(self, block: int, layer: Layer, *, first_row: int, rows: int) -> None:
        """One layer of a pass over the sequences from `first_row` on."""
        if len(self._layers) == block:
            self._layers.append([None] * len(self.rows))
        if layer.attention_BHQK.shape[0] != rows:
            return
        for index, row in enumerate(self.rows):
            if first_row <= row < first_row + rows:
                self._layers[block][index] = self._cut(layer.attention_BHQK[row - first_row], index)

    def take(self) -> np.ndarray | None:
        """What this look keeps, (example, block, head, query, key); NaN where there is no token or no head.

        None where the attention did not have the rows of the batch. The first look settles how many tokens are kept.
        """
        if not self._layers or any(part is None for layer in self._layers for part in layer):
            return None
        blocks = [np.stack([part for part in layer if part is not None]) for layer in self._layers]
        if not self._fixed:
            self.length = min(self.length, kept_length(sum(block.shape[1] for block in blocks), len(self.rows)))
            self._fixed = True
        most = max(block.shape[1] for block in blocks)
        kept = np.full((len(self.rows), len(blocks), most, self.length, self.length), np.nan, dtype=np.float32)
        for number, block in enumerate(blocks):
            kept[:, number, : block.shape[1]] = block[..., : self.length, : self.length]
        return np.round(kept * RESOLUTION) / np.float32(RESOLUTION)

    def coordinates(self) -> dict[str, list[int]]:
        """Positions count from the first real token of each example."""
        positions = list(range(1, self.length + 1))
        return {"example": list(range(1, len(self.rows) + 1)), "query": positions, "key": positions}

    def attributes(self) -> dict[str, object]:
        """`examples`: for each its row in the batch (from 1), its first position there, its ids and what they say."""
        described = []
        for index, row in enumerate(self.rows):
            start = self._starts[index]
            about: dict[str, object] = {"sequence": row + 1, "first_position": start + 1}
            if self._ids is not None:
                ids = self._ids[index][start : min(start + self.length, self._ends[index])]
                about["ids"] = ids
                if self._labels:
                    about["tokens"] = [self._labels[token] for token in ids]
            described.append(about)
        return {"examples": described}

    def _cut(self, attention_HQK: torch.Tensor, index: int) -> np.ndarray:
        """The kept tokens of one example; queries are the last of the positions."""
        heads, queries, keys = attention_HQK.shape
        start = self._starts[index]
        end = min(start + self.length, self._ends[index], keys)
        first = max(start, keys - queries)
        kept = np.full((heads, self.length, self.length), np.nan, dtype=np.float32)
        if end > first:
            part = attention_HQK[:, first - (keys - queries) : end - (keys - queries), start:end]
            kept[:, first - start : end - start, : end - start] = part.detach().float().cpu().numpy()
        return kept


def kept_length(heads: int, examples: int) -> int:
    """Tokens of each example for which a look stays within `NUMBERS`.

    >>> kept_length(4, 2), kept_length(144, 2), kept_length(2000, 2)
    (64, 32, 16)
    """
    return max(SHORTEST, min(LONGEST, math.isqrt(NUMBERS // max(1, heads * examples))))


def chosen_rows(examples: Any, batch: Batch) -> list[int]:
    """Which sequences to keep: the first so many, or those that are named by their place from 1; none for 0."""
    rows = batch.tokens.shape[0]
    if isinstance(examples, int) and not isinstance(examples, bool) and examples >= 0:
        return list(range(min(examples, rows)))
    fix = "give how many of the first sequences to keep, or a list of their numbers, counted from 1"
    if isinstance(examples, str | bytes) or not isinstance(examples, Sequence | np.ndarray):
        raise ConfigError(f"examples = {examples!r} is no number of sequences; {fix}")
    chosen = list(examples)
    for row in chosen:
        if not isinstance(row, int | np.integer) or isinstance(row, bool) or not 1 <= row <= rows:
            raise ConfigError(f"examples: {row!r} is no sequence of these {rows}; {fix}")
    return [int(row) - 1 for row in dict.fromkeys(chosen)]
