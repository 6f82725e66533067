"""What one small training is: a model, its data, and how its weights move. Kinds of training are in `zoo.kinds`.

Shape letters: B sequences, S positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

Setting = Mapping[str, Any]
"""Plain values from which, with a seed, a training is made; stored with the run."""
Part = Literal["development", "held-out"]
"""Rules and thresholds are fixed with the first in view and scored once on the second."""
Draw = Callable[[torch.Generator, int], tuple[Tensor, Tensor]]
"""So many sequences: inputs (B, S) and targets (B, S), `IGNORED` where nothing is asked."""

IGNORED = -100


@dataclass(frozen=True)
class Training:
    """One training, ready to run."""

    model: nn.Module
    draw: Draw
    steps: int
    rate: float
    batch: int = 32
    warmup: int = 0
    """steps over which the rate rises to its value, with their cube: a quiet start"""
    pool: int = 4096
    """training sequences; batches are drawn from them"""
    moves: Literal["adam", "sgd", "drift", "walk"] = "adam"
    """by gradients; or, with nothing learned: along one random direction, or by independent random steps"""


@dataclass(frozen=True)
class Kind:
    """A family of trainings; settings and seeds of the two parts differ."""

    name: str
    about: str
    make: Callable[[Setting, int], Training]
    development: tuple[Setting, ...]
    held_out: tuple[Setting, ...]
    runs: tuple[int, int]
    """how many in the development part, in the held-out part; settings take turns"""
    nothing: bool = False
    """whether this is a kind in which nothing happens"""

    def plan(self, part: Part) -> list[tuple[Setting, int]]:
        """Setting and seed of every run of a part."""
        settings = self.development if part == "development" else self.held_out
        first, count = (0, self.runs[0]) if part == "development" else (1000, self.runs[1])
        return [(settings[i % len(settings)], first + i) for i in range(count)]


def next_token(draw: Callable[[torch.Generator, int], Tensor]) -> Draw:
    """Every token but the first is a target."""

    def pairs(generator: torch.Generator, count: int) -> tuple[Tensor, Tensor]:
        tokens = draw(generator, count)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    return pairs


def seeded(seed: int, stream: int = 0) -> torch.Generator:
    """A generator of its own for each use of a seed."""
    return torch.Generator().manual_seed(1_000_003 * (stream + 1) + seed)
