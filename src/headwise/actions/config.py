"""What makes a run a branch: the run it leaves, the step at which it does, and what is done there."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, field_validator

from headwise.actions.action import Action, HeldAction
from headwise.actions.text import parse_action
from headwise.core.config import Config
from headwise.core.errors import ConfigError
from headwise.model.config import ModelConfig
from headwise.task.config import TaskConfig


class BranchConfig(Config):
    """Part of what a branch's results depend on, and therefore of its name."""

    parent: Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="digest of the run that it branches from")]
    step: Annotated[int, Field(ge=0, description="steps of the parent that it keeps")]
    actions: Annotated[tuple[str, ...], Field(description="what is done, in order")] = ()

    @field_validator("actions", mode="before")
    @classmethod
    def _one_wording(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            return value
        try:
            return tuple(str(parse_action(text)) for text in value)
        except ConfigError as error:
            raise ValueError(str(error)) from None

    def parsed(self) -> list[Action]:
        """The actions themselves."""
        return [parse_action(text) for text in self.actions]


def check_branch(branch: BranchConfig, model: ModelConfig, task: TaskConfig, *, steps: int) -> None:
    """ValueError unless the branch fits its model and task."""
    if branch.step > steps:
        raise ValueError(f"train.steps = {steps} ends before the branch begins at step {branch.step}; raise it")
    for action in branch.parsed():
        action.check(model, task)
        if isinstance(action, HeldAction) and action.until is not None and action.until <= branch.step:
            raise ValueError(f"{action}: until must come after step {branch.step}, where the branch begins")
