"""`scale`: weights of heads are multiplied by a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import Field

from headwise.actions.action import Action, Part

if TYPE_CHECKING:
    from headwise.actions.subject import Subject

SECOND_FACTORS = ("key_HED", "key_bias_HE", "output_OHE")


class Scale(Action):
    """`scale:heads=1:part=values:by=0.5`, once at the step of the branch

    - weights: the scores of the head's attention become `by` times what they were, and so does what it writes; of
      two matrices in a product (query and key, value and output) the first is multiplied
    - moments, gradient, weight decay and clipping: as always
    """

    name: ClassVar[str] = "scale"

    by: Annotated[float, Field(description="the factor")]
    part: Part = "all"

    def edit(self, subject: Subject, *, index: int) -> None:
        for piece in subject.slices(self, self.part):
            if piece.name not in SECOND_FACTORS:
                piece.weights().mul_(self.by)
