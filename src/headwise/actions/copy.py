"""`copy`: a head becomes another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from headwise.actions.action import Action, Number, Part, check_number
from headwise.actions.slices import head_slices, stored

if TYPE_CHECKING:
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig
    from headwise.task.config import TaskConfig


class Copy(Action):
    """`copy:source=1:heads=2,3`, once at the step of the branch

    - weights and moments of the source are written over those of the heads named, in each block
    - gradient, weight decay and clipping: as always
    """

    name: ClassVar[str] = "copy"

    source: Annotated[Number, Field(description="the head that is copied")]
    part: Part = "all"

    def check(self, model: ModelConfig, task: TaskConfig) -> None:
        super().check(model, task)
        check_number(self, "head", self.source, model.heads)
        if self.heads == "all":
            raise ValueError(f"{self}: heads must name the heads that become head {self.source}")
        if self.source in self.heads:
            raise ValueError(f"{self}: head {self.source} is its own copy already; leave it out of heads")

    def edit(self, subject: Subject, *, index: int) -> None:
        for block, head in self.places(subject.decoder.config):
            copied = head_slices(subject.decoder, block, self.source - 1, self.part)
            for piece, source in zip(head_slices(subject.decoder, block, head, self.part), copied, strict=True):
                for view, value in zip(
                    stored(subject.optimiser, piece), stored(subject.optimiser, source), strict=True
                ):
                    view.copy_(value)
