"""The engines that one contract holds, each in the precision it is meant for, and the kernel in all its forms."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

import pytest
import torch
from path_grid import GRID

from headwise.model import kernel
from headwise.model.config import ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.engine import Engine
from headwise.model.folded_blocks import Source
from headwise.model.kernel_engine import KernelEngine
from headwise.model.plan import possible
from headwise.model.reference import ReferenceEngine
from headwise.model.tables import Output
from headwise.model.tabulated import TabulatedEngine


@dataclass(frozen=True)
class Subject:
    """One engine under test."""

    path: Literal["reference", "torch", "kernel"]
    dtype: torch.dtype = torch.float64
    level: str = ""
    """Instruction set of the kernel; empty for the best that the processor has."""
    output: Output = "folded"
    source: Source | None = None
    """What the first block reads; by default whatever is planned."""

    def __str__(self) -> str:
        if self.path == "kernel":
            return " ".join(("kernel", self.level or "best", self.output, *([self.source] if self.source else [])))
        return f"{self.path} {str(self.dtype).removeprefix('torch.')}"

    def make(self, decoder: Decoder, *, dropout_seed: int = 3, chunk: int = 3) -> Engine:
        """The engine of a decoder; the chunk does not divide the batches here, so that the last one is smaller."""
        if self.path == "reference":
            return ReferenceEngine(decoder, dropout_seed=dropout_seed, chunk=chunk)
        if self.path == "torch":
            return TabulatedEngine(decoder, dropout_seed=dropout_seed, chunk=chunk)
        return KernelEngine(decoder, dropout_seed=dropout_seed, chunk=chunk, output=self.output, source=self.source)

    def computes(self, config: ModelConfig) -> bool:
        """Whether this form exists for a model: the output matrix is kept apart only where there is one, and tables
        hold neither dropped inputs nor norms."""
        if self.source is not None and self.source not in possible(config, training=True):
            return False
        dropped = config.dropout.embedding > 0 and self.source != "dense"
        return self.output == "folded" or (config.output == "on" and not dropped)

    @contextmanager
    def instructions(self) -> Iterator[None]:
        """The kernel limited to the instruction set of this form; skips where there is no such kernel."""
        if self.path == "kernel":
            if (problem := kernel.missing()) is not None:
                pytest.skip(problem)
            if self.level:
                with limited_to(self.level):
                    yield
                return
        yield


@contextmanager
def limited_to(level: str) -> Iterator[None]:
    """The kernel at one instruction set."""
    library, wanted = kernel.library(), kernel.LEVELS.index(level)
    library.headwise_limit(wanted)
    try:
        if library.headwise_level() != wanted:
            pytest.skip(f"no {level} here")
        yield
    finally:
        library.headwise_limit(len(kernel.LEVELS))


SUBJECTS = [
    Subject("reference"),
    Subject("torch"),
    Subject("torch", torch.float32),
    *(Subject("kernel", torch.float32, level, output) for level in kernel.LEVELS for output in ("folded", "apart")),
    Subject("kernel", torch.float32, "", "folded", "sums"),
    Subject("kernel", torch.float32, "", "apart", "sums"),
    Subject("kernel", torch.float32, "", "folded", "pairs"),
    Subject("kernel", torch.float32, "", "apart", "dense"),
    Subject("kernel", torch.float32, "avx2", "folded", "dense"),
    Subject("kernel", torch.float32, "plain", "folded", "dense"),
]
PAIRS = {
    f"{subject}: {name}": (subject, config)
    for subject in SUBJECTS
    for name, config in GRID.items()
    if subject.computes(config)
}
