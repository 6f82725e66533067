"""`tie`: heads are made equal and stay equal while it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headwise.actions.action import HeldAction, Part
from headwise.actions.slices import HeadSlice, head_slices, stored

if TYPE_CHECKING:
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig
    from headwise.task.config import TaskConfig


class Tie(HeldAction):
    """`tie:heads=1,2,3:until=700`

    - at the step of the branch: weights and moments of all tied heads become their mean
    - gradient: the mean over the tied heads, given to each; the norm that clipping looks at counts it once for each
    - weight decay and moments: as the optimiser makes them from that gradient, the same for each tied head
    """

    name: ClassVar[str] = "tie"
    turn: ClassVar[int] = 1

    part: Part = "all"

    def check(self, model: ModelConfig, task: TaskConfig) -> None:
        super().check(model, task)
        if len(self.places(model)) < 2 * (model.blocks if self.blocks == "all" else len(self.blocks)):
            raise ValueError(f"{self}: heads must name at least two, such as tie:heads=1,2")

    def edit(self, subject: Subject, *, index: int) -> None:
        import torch

        for pieces in self._tied(subject):
            for views in zip(*(stored(subject.optimiser, piece) for piece in pieces), strict=True):
                mean = torch.stack([view.double() for view in views]).mean(0)
                for view in views:
                    view.copy_(mean)

    def gradients(self, subject: Subject) -> None:
        import torch

        for pieces in self._tied(subject):
            gradient = pieces[0].parameter.grad
            if gradient is None:
                continue
            views = [piece.of(gradient) for piece in pieces]
            mean = torch.stack([view.double() for view in views]).mean(0)
            for view in views:
                view.copy_(mean)

    def after_step(self, subject: Subject, kept: None) -> None:
        # Vectorised optimisers may round equal heads differently where one of them meets the end of a vector.
        for pieces in self._tied(subject):
            for first, *others in zip(*(stored(subject.optimiser, piece) for piece in pieces), strict=True):
                for other in others:
                    other.copy_(first)

    def _tied(self, subject: Subject) -> list[list[HeadSlice]]:
        """The slices that are kept equal: of each block and each of its parameters, one for every tied head."""
        blocks: dict[int, list[list[HeadSlice]]] = {}
        for block, head in self.places(subject.decoder.config):
            blocks.setdefault(block, []).append(head_slices(subject.decoder, block, head, self.part))
        return [list(pieces) for of_heads in blocks.values() for pieces in zip(*of_heads, strict=True)]
