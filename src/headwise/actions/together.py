"""Actions that contradict each other, found before anything is computed.

Ties are what others can contradict: tied heads are equal as long as they are tied, so one of them alone can be neither
frozen nor set to something else. All other actions go together: what is frozen stands still whatever else is done, of
two patterns or two ablations of a head the later counts, and masks add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.actions.action import Action, HeldAction
from headwise.actions.freeze import Freeze
from headwise.actions.tie import Tie
from headwise.core.errors import ConfigError

if TYPE_CHECKING:
    from headwise.model.config import ModelConfig


def check_together(actions: Sequence[Action], model: ModelConfig) -> None:
    """`ConfigError` for two actions that cannot both be done, in the order in which they are given."""
    for index, tie in enumerate(actions):
        if not isinstance(tie, Tie):
            continue
        for place, other in enumerate(actions):
            if place == index or not _meet(tie, other, model):
                continue
            if isinstance(other, Tie):
                raise ConfigError(f"{tie} and {other} share a head; name all heads that stay equal in one tie")
            if isinstance(other, Freeze) and not set(tie.places(model)) <= set(other.places(model)):
                raise ConfigError(f"{tie} and {other}: tied heads stand still together; freeze all of them or none")
            if place > index and not isinstance(other, HeldAction):
                raise ConfigError(f"{tie} and then {other}: tied heads stay equal; put {other.name} before tie")


def _meet(tie: Tie, other: Action, model: ModelConfig) -> bool:
    """Whether an action acts on the same weights as a tie."""
    parts = {tie.part, getattr(other, "part", "all")}
    return ("all" in parts or len(parts) == 1) and not set(tie.places(model)).isdisjoint(other.places(model))
