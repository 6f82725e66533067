"""`block`: a head does not see some lags."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from headwise.actions.action import HeldAction, Numbers, check_group, check_number, furthest_lag, learned_stream
from headwise.actions.patterns import at_lags
from headwise.task.config import group_lags

if TYPE_CHECKING:
    from headwise.actions.overrides import Override
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig
    from headwise.task.config import TaskConfig


class Block(HeldAction):
    """`block:heads=1:groups=2`, `block:heads=1:lags=3,4`

    - forward: attention to these lags is masked before the softmax; a query that would see nothing else keeps what it
      sees
    - gradient: that of the masked attention, so the scores of masked pairs have none
    - weight decay, moments and clipping: as always
    """

    name: ClassVar[str] = "block"

    groups: Numbers = ()
    lags: Numbers = ()

    def check(self, model: ModelConfig, task: TaskConfig) -> None:
        super().check(model, task)
        if not self.groups and not self.lags:
            raise ValueError(f"{self}: give the groups or the lags to mask, such as block:heads=1:groups=2")
        for group in self.groups:
            check_group(self, group, model, task)
        furthest = furthest_lag(model, task)
        check_number(self, "lag", max(self.lags, default=1), furthest)
        lags = {*self.lags, *(lag for group in self.groups for lag in group_lags(task)[group - 1])}
        if lags.issuperset(range(1, furthest + 1)):
            raise ValueError(f"{self}: no lag would be left to see; leave one of 1 to {furthest} unmasked")

    def only_on_reference(self, model: ModelConfig) -> str | None:
        by_position = model.positions == "one_hot" and model.score == "merged"
        by_lag = model.positions == "relative" and model.blocks == 1
        if not by_position and not by_lag:
            return "no scores of its attention can be masked by themselves"
        return learned_stream(self, model)

    def overrides(self, subject: Subject, *, index: int) -> list[Override]:
        from headwise.actions.overrides import Override

        lags = {*self.lags, *(lag for group in self.groups for lag in subject.task.lags[group - 1])}
        masked_SS = at_lags(subject.decoder, sorted(lags))
        return [Override(block, head, masked_SS=masked_SS) for block, head in self.places(subject.decoder.config)]
