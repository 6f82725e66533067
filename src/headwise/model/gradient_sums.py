"""Where the kernel adds up the gradients of the folded weights, kept from step to step."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from headwise.model.folded_blocks import SELDOM, FoldedBlock
from headwise.model.kernel_structures import Gradients, address


class GradientSums:
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
        self._idle: list[tuple[Tensor, ctypes.Array[Gradients]]] = []

    def split(self, joined: Tensor) -> list[list[Tensor]]:
        """Each block's fields."""
        empty = joined[:0]
        return [
            [joined[self._from[b, f] : self._from[b, f] + size] if size else empty for f, size in enumerate(block)]
            for b, block in enumerate(self.sizes)
        ]

    def added(self) -> Tensor:
        """The sums of all groups, (N,), in float32; adding up a single one would only copy it."""
        total_N = self.total_GN[0] if len(self.total_GN) == 1 else self.total_GN.sum(0)
        return total_N.float()

    @contextmanager
    def of_group(self, group: int) -> Iterator[ctypes.Array[Gradients]]:
        """Where one group's gradients go. The kernel leaves a chunk's sums at zero, ready for the next group."""
        part, gradients = self._idle.pop() if self._idle else self._fresh()
        gradients[0].total = self.total_GN[group].data_ptr()
        yield gradients
        self._idle.append((part, gradients))

    def _fresh(self) -> tuple[Tensor, ctypes.Array[Gradients]]:
        """Room for a chunk's sums, and where in it each block's gradients lie; the first says how much it is."""
        part = torch.zeros(self._size)
        blocks = [
            Gradients(**{name: address(field) for name, field in zip(FoldedBlock._fields, fields, strict=True)})
            for fields in self.split(part)
        ]
        blocks[0].part, blocks[0].size, blocks[0].seldom = part.data_ptr(), self._size - self._seldom, self._seldom
        return part, (Gradients * len(blocks))(*blocks)
