"""What makes a run a branch: the run it leaves, the step at which it does, and what is done there."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer

from headwise.actions.action import Action, HeldAction
from headwise.actions.sham import Sham
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
    held: Annotated[
        tuple[str, ...], Field(description="what the parent, a branch itself, holds at this step, which goes on")
    ] = ()

    @model_serializer(mode="wrap")
    def _held_where_something_is(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Most branches leave a run that holds nothing; they are stored, and named, as before anything could go on.
        content: dict[str, Any] = handler(self)
        return {key: value for key, value in content.items() if key != "held" or value}

    @field_validator("actions", "held", mode="before")
    @classmethod
    def _one_wording(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            return value
        try:
            return tuple(str(parse_action(text)) for text in value)
        except ConfigError as error:
            raise ValueError(str(error)) from None

    def parsed(self) -> list[Action]:
        """The actions themselves, in the order in which they act: what goes on from the parent, then its own."""
        return [action for _, action in self.numbered()]

    def numbered(self) -> list[tuple[int, Action]]:
        """The same with the numbers under which a checkpoint keeps what they hold; its own actions begin at 0."""
        own = list(enumerate(map(parse_action, self.actions)))
        return [*enumerate(map(parse_action, self.held), start=len(own)), *own]

    def going_on(self, step: int, *, end: int) -> list[tuple[int, HeldAction]]:
        """What a branch of this one, which ends at `end`, goes on to hold from `step` on, with its number here.

        What has no `until` holds to the end of each of them. At the end itself nothing goes on: a branch from there is
        free of it.
        """
        return [
            (number, action)
            for number, action in self.numbered()
            if isinstance(action, HeldAction) and not isinstance(action, Sham) and action.active(step) and step < end
        ]


def check_branch(branch: BranchConfig, model: ModelConfig, task: TaskConfig, *, steps: int) -> None:
    """ValueError unless the branch fits its model and task."""
    if branch.step > steps:
        raise ValueError(f"train.steps = {steps} ends before the branch begins at step {branch.step}; raise it")
    for action in branch.parsed():
        action.check(model, task)
        if isinstance(action, HeldAction) and action.until is not None and action.until <= branch.step:
            raise ValueError(f"{action}: until must come after step {branch.step}, where the branch begins")
