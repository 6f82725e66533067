"""What actions act on: a model with its optimiser, its task and its first weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headwise.actions.action import Action, Part
from headwise.actions.slices import HeadSlice, head_slices
from headwise.model.decoder import Decoder
from headwise.task.chain import Task


@dataclass
class Subject:
    """A training in the hands of its actions."""

    decoder: Decoder
    optimiser: torch.optim.Optimizer
    task: Task
    test: Tensor
    """Inputs of the test sequences, over which means are taken."""
    counted: int
    """Positions of each of them whose prediction counts."""
    seed: int
    step: int
    """Step of the branch."""
    initial: Callable[[], Decoder]
    """The decoder with its first weights, made anew."""
    constants: dict[str, Tensor] = field(default_factory=dict)
    """What actions took at the step of the branch and hold since; kept with every checkpoint."""

    def slices(self, action: Action, part: Part) -> list[HeadSlice]:
        """The weights that an action means."""
        return [
            piece
            for block, head in action.places(self.decoder.config)
            for piece in head_slices(self.decoder, block, head, part)
        ]
