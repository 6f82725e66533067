"""What every action is: a checked record with up to five moments at which it acts on a training.

    edit             once, at the step of the branch: weights and moments are changed
    measured         once, at the step of the branch: the means that are held from then on are taken
    overrides        during every forward and backward pass: attention or what a head writes is replaced
    gradients        after every backward pass, before the norm that clipping looks at is taken
    keep, after_step around every step of the optimiser

An action that does nothing at a moment does not write its method. All but the first belong to actions that hold
something (`HeldAction`), until `until`. Nothing here imports torch, so that texts are checked without waiting for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from headwise.core.config import Config
from headwise.task.config import group_lags

if TYPE_CHECKING:
    from torch import Tensor

    from headwise.actions.overrides import Override
    from headwise.actions.subject import Subject
    from headwise.model.config import ModelConfig
    from headwise.task.config import TaskConfig

Part = Literal["attention", "values", "all"]
"""Of a head: what its attention weights come from, what it writes (values and output matrix), or both."""

Number = Annotated[int, Field(ge=1)]
Numbers = tuple[Number, ...]

Place = tuple[int, int]
"""Block and head, counted from 0."""


class Action(Config):
    """One action on some heads of some blocks, both counted from 1; without `blocks` it acts in every block."""

    name: ClassVar[str]

    heads: Numbers | Literal["all"] = "all"
    blocks: Numbers | Literal["all"] = "all"

    def places(self, model: ModelConfig) -> list[Place]:
        """The (block, head) pairs that are meant, counted from 0."""
        blocks = range(1, model.blocks + 1) if self.blocks == "all" else self.blocks
        heads = range(1, model.heads + 1) if self.heads == "all" else self.heads
        return [(block - 1, head - 1) for block in blocks for head in heads]

    def within(self, blocks: Sequence[int]) -> Self:
        """The same action in those of its blocks that are among these, counted from 0; it may have none left."""
        left = tuple(block + 1 for block in blocks if self.blocks == "all" or block + 1 in self.blocks)
        return self.changed({"blocks": left})

    def check(self, model: ModelConfig, task: TaskConfig) -> None:
        """ValueError unless the heads and blocks that are named exist."""
        for what, named, most in (("head", self.heads, model.heads), ("block", self.blocks, model.blocks)):
            if named == "all":
                continue
            if not named or len(set(named)) < len(named):
                raise ValueError(f"{self}: {what}s must name at least one, each once")
            check_number(self, what, max(named), most)

    def edit(self, subject: Subject, *, index: int) -> None:
        """Change weights and moments once; `index` is the place among the actions."""

    def to_text(self) -> str:
        """The action as it is written: its name and every key that is not at its default."""
        given = self.model_dump(mode="json", exclude_defaults=True)
        return ":".join([self.name, *(f"{key}={_written(value)}" for key, value in given.items())])

    def __str__(self) -> str:
        return self.to_text()


class HeldAction(Action):
    """An action that goes on from the step of the branch until step `until`, or to the end of the branch."""

    turn: ClassVar[int] = 0
    """When it changes gradients and what the optimiser did: first what a pass leaves without a gradient, then ties (1),
    which share gradients out, then what stands still (2)."""

    until: Annotated[int | None, Field(ge=1)] = None

    def active(self, step: int) -> bool:
        """Whether it holds after this many steps: for the step that follows, and for a measurement made now."""
        return self.until is None or step < self.until

    def only_on_reference(self, model: ModelConfig) -> str | None:
        """Why only the reference path computes this action, in a few words; `None` if every path does."""
        return None

    def takes_means(self) -> bool:
        """Whether it holds means of the model at the step of the branch."""
        return False

    def measured(self, subject: Subject) -> dict[Place, Tensor]:
        """The means that it holds, of each head that it names, in the model as it is put now."""
        return {}

    def overrides(self, subject: Subject, *, index: int) -> list[Override]:
        """What is replaced in the forward pass."""
        return []

    def gradients(self, subject: Subject) -> None:
        """Change the gradients of a step before they are clipped."""

    def keep(self, subject: Subject) -> Any:
        """What `after_step` needs from before the optimiser's step."""
        return None

    def after_step(self, subject: Subject, kept: Any) -> None:
        """Put right what the optimiser did."""


def learned_stream(action: Action, model: ModelConfig) -> str | None:
    """Why a layer that an action names does not read tokens and positions as they are; `None` if all do."""
    if any(block > 0 for block, _ in action.places(model)):
        return "a later block reads what the one before it wrote"
    if model.norm == "pre" or model.dropout.embedding > 0:
        return "its layer reads a normalised or dropped stream"
    return None


def check_number(action: Action, what: str, given: int, most: int) -> None:
    """ValueError for a head, block or group beyond those that there are."""
    if given > most:
        raise ValueError(f"{action}: there is no {what} {given}; give one of 1 to {most}")


def check_group(action: Action, group: int, model: ModelConfig, task: TaskConfig) -> None:
    """ValueError for a group beyond those that there are, or of which the model sees no lag."""
    check_number(action, "group", group, task.h)
    if min(group_lags(task)[group - 1]) > furthest_lag(model, task):
        raise ValueError(
            f"{action}: the model sees {furthest_lag(model, task)} lags, none of group {group}; name another"
        )


def furthest_lag(model: ModelConfig, task: TaskConfig) -> int:
    """The furthest lag that any query sees."""
    return model.context or model.window or task.w + task.T - 1


def _written(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
