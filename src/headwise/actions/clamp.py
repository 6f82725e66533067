"""`clamp`: a head's attention is replaced by a fixed pattern."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from pydantic import field_validator

from headwise.actions.action import HeldAction, Place, check_group, learned_stream
from headwise.actions.patterns import group_pattern, uniform_pattern

if TYPE_CHECKING:
    from torch import Tensor

    from headwise.actions.overrides import Override
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig
    from headwise.task.config import TaskConfig


class Clamp(HeldAction):
    """`clamp:heads=1:to=group2`, `clamp:to=uniform`, `clamp:heads=1:to=past`

    - forward: the attention of the head is a group's ideal pattern (its lags with their weights α), even over all
      that a query sees, or `past`: its own mean over the test sequences at the step of the branch, query by query, in
      the model with all that is held on other heads
    - gradient: zero for the weights of its attention, so it does not enter the norm that clipping looks at; its
      values learn on
    - weight decay and moments of its attention: go on without a gradient
    """

    name: ClassVar[str] = "clamp"

    to: str

    @field_validator("to")
    @classmethod
    def _known_pattern(cls, value: str) -> str:
        if value not in ("uniform", "past") and re.fullmatch(r"group[1-9]\d{0,5}", value) is None:
            raise ValueError(f"to = {value} must be a group such as group2, uniform or past")
        return value

    def check(self, model: ModelConfig, task: TaskConfig) -> None:
        super().check(model, task)
        if self.to.startswith("group"):
            check_group(self, int(self.to.removeprefix("group")), model, task)

    def only_on_reference(self, model: ModelConfig) -> str | None:
        by_position = model.positions == "one_hot" and (model.score == "merged" or model.embedding == "one_hot")
        by_lag = model.positions == "relative" and self.to != "past"
        if not by_position and not by_lag:
            return "no scores of its attention have exactly this pattern"
        return learned_stream(self, model)

    def takes_means(self) -> bool:
        return self.to == "past"

    def measured(self, subject: Subject) -> dict[Place, Tensor]:
        from headwise.actions.means import mean_attention

        return mean_attention(subject, self.places(subject.decoder.config))

    def overrides(self, subject: Subject, *, index: int) -> list[Override]:
        from headwise.actions.overrides import Override

        decoder, fixed = subject.decoder, None
        if self.to == "uniform":
            fixed = uniform_pattern(decoder)
        elif self.to != "past":
            fixed = group_pattern(subject.task, decoder, int(self.to.removeprefix("group")))
        return [
            Override(*place, pattern_SS=subject.held(index, place) if fixed is None else fixed)
            for place in self.places(decoder.config)
        ]

    def gradients(self, subject: Subject) -> None:
        for piece in subject.slices(self, "attention"):
            if piece.parameter.grad is not None:
                piece.of(piece.parameter.grad).zero_()
