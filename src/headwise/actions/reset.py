"""`reset`: heads start again from their first weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headwise.actions.action import Action, Part
from headwise.actions.slices import head_slices, moments

if TYPE_CHECKING:
    from headwise.actions.subject import Subject


class Reset(Action):
    """`reset:heads=2`, once at the step of the branch

    - weights: those with which the run began
    - moments: zero; the optimiser's count of steps, which all heads share, goes on, so that the first steps after a
      reset are not the larger ones with which a run begins
    - gradient, weight decay and clipping: as always
    """

    name: ClassVar[str] = "reset"

    part: Part = "all"

    def edit(self, subject: Subject, *, index: int) -> None:
        first = subject.initial()
        for block, head in self.places(subject.decoder.config):
            begun = head_slices(first, block, head, self.part)
            for piece, source in zip(head_slices(subject.decoder, block, head, self.part), begun, strict=True):
                piece.weights().copy_(source.weights())
                for _, memory in moments(subject.optimiser, piece):
                    memory.zero_()
