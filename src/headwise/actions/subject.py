"""What actions act on: a model with its optimiser, its task and its first weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headwise.actions.action import Action, Part, Place
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

    def hold(self, index: int, means: Mapping[Place, Tensor]) -> None:
        """Keep what the action of this number took of each head."""
        for (block, head), mean in means.items():
            self.constants[f"{index}.{block}.{head}"] = mean

    def held(self, index: int, place: Place) -> Tensor:
        """What the action of this number took of one head."""
        block, head = place
        return self.constants[f"{index}.{block}.{head}"]

    def slices(self, action: Action, part: Part) -> list[HeadSlice]:
        """The weights that an action means."""
        return [
            piece
            for block, head in action.places(self.decoder.config)
            for piece in head_slices(self.decoder, block, head, part)
        ]
