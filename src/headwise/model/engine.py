"""What training and measurement ask of a model, whichever path computes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

Visit = Callable[[slice, Tensor], None]
"""Called with a range of rows and their logits, (rows, counted, dictionary)."""


@dataclass(frozen=True)
class AttentionSummary:
    """Attention of the counted queries, averaged over sequences."""

    map: Tensor
    """(blocks, heads, queries, keys), float64"""
    entropy: Tensor
    """(blocks, heads): mean entropy of a row in nats, float64"""


class Engine(Protocol):
    """A decoder and one way to compute it."""

    name: str

    @property
    def decoder(self) -> nn.Module:
        """The module whose parameters are trained."""
        ...

    def loss_and_gradients(self, inputs: Tensor, targets: Tensor, *, step: int, dropout: bool = True) -> float:
        """Mean cross-entropy of a batch; leaves its gradient in every parameter's `.grad`.

        Without `dropout` nothing is dropped in this step, whatever the model's rates are.
        """
        ...

    def evaluate(self, inputs: Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        """Logits without dropout, handed over chunk by chunk, and the attention behind them."""
        ...


@runtime_checkable
class Intervened(Protocol):
    """An engine whose decoder computes something else than its weights say, during its passes alone."""

    def in_force(self) -> AbstractContextManager[None]:
        """While inside, the decoder by itself computes what a pass does."""
        ...


@runtime_checkable
class MeasuresHeads(Protocol):
    """An engine that measures more of its heads than the summary of their attention says."""

    def head_variables(self, inputs: Tensor, *, counted: int) -> dict[str, np.ndarray]:
        """Further variables of one record, on these sequences and queries."""
        ...

    def head_coordinates(self) -> dict[str, list[str]]:
        """What the entries of their dimensions are called, as far as these do not simply count."""
        ...


def in_force(engine: Engine) -> AbstractContextManager[None]:
    """Whatever is done to the model in its passes, for a look at the decoder itself."""
    return engine.in_force() if isinstance(engine, Intervened) else nullcontext()


def chunks(rows: int, size: int) -> Iterator[slice]:
    """Consecutive ranges of at most `size` rows."""
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


COUNTED = 20
"""Counted positions of a sequence for which the configured chunk is meant, the paper's T."""


def sequences_at_a_time(chunk: int, counted: int) -> int:
    """Sequences in a chunk: as asked for, and more where only a few positions of each count."""
    return chunk * max(1, COUNTED // counted)


class SummedAttention:
    """Adds up attention over chunks in double precision."""

    def __init__(self) -> None:
        self._map: list[Tensor] = []
        self._entropy: list[Tensor] = []
        self._rows = 0

    def add(self, attention: list[Tensor], counted: int) -> None:
        """One chunk: each block's weights, (rows, heads, queries, keys); only the counted queries are kept."""
        seen = [a[:, :, -counted:] for a in attention]
        maps = [a.sum(0, dtype=torch.float64) for a in seen]
        entropies = [torch.special.entr(a).sum(-1).mean(-1).sum(0, dtype=torch.float64) for a in seen]
        self._map = [x + y for x, y in zip(self._map, maps, strict=True)] if self._map else maps
        self._entropy = [x + y for x, y in zip(self._entropy, entropies, strict=True)] if self._entropy else entropies
        self._rows += seen[0].shape[0]

    def mean(self) -> AttentionSummary:
        return AttentionSummary(torch.stack(self._map) / self._rows, torch.stack(self._entropy) / self._rows)
