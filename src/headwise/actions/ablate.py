"""`ablate`: what a head writes is replaced by nothing, or by its mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from headwise.actions.action import HeldAction, learned_stream

if TYPE_CHECKING:
    from headwise.actions.overrides import Override
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig


class Ablate(HeldAction):
    """`ablate:heads=2`, `ablate:heads=2:put=mean`

    - forward: the head writes zero, or at every position the mean of what it wrote at the step of the branch, over
      the test sequences and the positions that are computed
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

    def edit(self, subject: Subject, *, index: int) -> None:
        if self.put == "mean":
            from headwise.actions.means import mean_written

            for (block, head), written_O in mean_written(subject, self.places(subject.decoder.config)).items():
                subject.constants[f"{index}.{block}.{head}"] = written_O

    def overrides(self, subject: Subject, *, index: int) -> list[Override]:
        from headwise.actions.overrides import Override

        return [
            Override(block, head, silent=True, written_O=subject.constants.get(f"{index}.{block}.{head}"))
            for block, head in self.places(subject.decoder.config)
        ]

    def gradients(self, subject: Subject) -> None:
        for piece in subject.slices(self, "all"):
            if piece.parameter.grad is not None:
                piece.of(piece.parameter.grad).zero_()
