"""`ablate`: what a head writes is replaced by nothing, or by its mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from headwise.actions.action import HeldAction, Place, learned_stream

if TYPE_CHECKING:
    from torch import Tensor

    from headwise.actions.overrides import Override
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig


class Ablate(HeldAction):
    """`ablate:heads=2`, `ablate:heads=2:put=mean`

    - forward: the head writes zero, or at every position the mean of what it wrote at the step of the branch, over
      the test sequences and the positions that are computed, in the model with all that is held on other heads
    - gradient: zero for all weights of the head, so it does not enter the norm that clipping looks at
    - weight decay and moments: go on without a gradient, so the idle weights shrink and the moments fade

    Its attention is still measured; values are measured as the weights have them, though they are not used.
    """

    name: ClassVar[str] = "ablate"

    put: Literal["zero", "mean"] = "zero"

    def only_on_reference(self, model: ModelConfig) -> str | None:
        if self.put == "zero":
            return None
        if model.output == "on" or model.positions != "one_hot":
            return "the values have no coordinates for positions alone"
        if model.dropout.attention > 0:
            return "dropped attention would change the mean"
        return learned_stream(self, model)

    def takes_means(self) -> bool:
        return self.put == "mean"

    def measured(self, subject: Subject) -> dict[Place, Tensor]:
        from headwise.actions.means import mean_written

        return mean_written(subject, self.places(subject.decoder.config))

    def overrides(self, subject: Subject, *, index: int) -> list[Override]:
        from headwise.actions.overrides import Override

        return [
            Override(*place, silent=True, written_O=subject.held(index, place) if self.put == "mean" else None)
            for place in self.places(subject.decoder.config)
        ]

    def gradients(self, subject: Subject) -> None:
        for piece in subject.slices(self, "all"):
            if piece.parameter.grad is not None:
                piece.of(piece.parameter.grad).zero_()
