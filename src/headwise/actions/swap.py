"""`swap`: two heads change places."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headwise.actions.action import Action, Part
from headwise.actions.slices import head_slices, stored

if TYPE_CHECKING:
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig
    from headwise.task.config import TaskConfig


class Swap(Action):
    """`swap:heads=1,2:part=attention`, once at the step of the branch

    - weights and moments of the two heads are exchanged, in each block; swapping whole heads only renames them
    - gradient, weight decay and clipping: as always
    """

    name: ClassVar[str] = "swap"

    part: Part = "all"

    def check(self, model: ModelConfig, task: TaskConfig) -> None:
        super().check(model, task)
        if self.heads == "all" or len(self.heads) != 2:
            raise ValueError(f"{self}: heads must name exactly two, such as swap:heads=1,2")

    def edit(self, subject: Subject, *, index: int) -> None:
        decoder = subject.decoder
        blocks = sorted({block for block, _ in self.places(decoder.config)})
        first, second = (int(head) - 1 for head in self.heads)
        for block in blocks:
            here, there = (head_slices(decoder, block, head, self.part) for head in (first, second))
            for one, other in zip(here, there, strict=True):
                for a, b in zip(stored(subject.optimiser, one), stored(subject.optimiser, other), strict=True):
                    before = a.clone()
                    a.copy_(b)
                    b.copy_(before)
