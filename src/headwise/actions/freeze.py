"""`freeze`: some weights do not change at all while it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headwise.actions.action import HeldAction, Part
from headwise.actions.slices import stored

if TYPE_CHECKING:
    from torch import Tensor

    from headwise.actions.subject import Subject


class Freeze(HeldAction):
    """`freeze:heads=1,2:part=values:until=700`

    - gradient: zero, so it does not enter the norm that clipping looks at
    - weights: unchanged, also by weight decay
    - moments: unchanged; the optimiser's count of steps, which all heads share, goes on
    """

    name: ClassVar[str] = "freeze"
    turn: ClassVar[int] = 2

    part: Part = "all"

    def gradients(self, subject: Subject) -> None:
        for piece in subject.slices(self, self.part):
            if piece.parameter.grad is not None:
                piece.of(piece.parameter.grad).zero_()

    def keep(self, subject: Subject) -> list[list[Tensor]]:
        return [
            [view.clone() for view in stored(subject.optimiser, piece)] for piece in subject.slices(self, self.part)
        ]

    def after_step(self, subject: Subject, kept: list[list[Tensor]]) -> None:
        for piece, before in zip(subject.slices(self, self.part), kept, strict=True):
            views = list(stored(subject.optimiser, piece))
            for view, value in zip(views, before, strict=False):
                view.copy_(value)
            for fresh in views[len(before) :]:
                fresh.zero_()  # a memory that this first step of the optimiser has made
