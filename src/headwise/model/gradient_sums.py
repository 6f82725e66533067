"""Where the kernel adds up the gradients of the folded weights, kept from step to step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from headwise.model.folded import Folded
from headwise.model.kernel_structures import Gradients, address


class GradientSums:
    """Gradients of the folded weights, side by side: of a chunk in float32, of each group of chunks in double."""

    def __init__(self, sizes: list[int], parts: int) -> None:
        self.sizes = sizes
        self.total_GN = torch.zeros(parts, sum(sizes), dtype=torch.float64)
        self._idle: list[tuple[Tensor, dict[str, int | None]]] = []

    @contextmanager
    def of_group(self, group: int) -> Iterator[Gradients]:
        """Where one group's gradients go. The kernel leaves a chunk's sums at zero, ready for the next group."""
        part, addresses = self._idle.pop() if self._idle else self._fresh()
        yield Gradients(part=part.data_ptr(), total=self.total_GN[group].data_ptr(), size=part.numel(), **addresses)
        self._idle.append((part, addresses))

    def _fresh(self) -> tuple[Tensor, dict[str, int | None]]:
        """Room for a chunk's sums, and where in it each weight's gradient lies."""
        part = torch.zeros(sum(self.sizes), dtype=torch.float32)
        fields = zip(Folded._fields, torch.split(part, self.sizes), strict=True)
        return part, {name: address(field) for name, field in fields}
