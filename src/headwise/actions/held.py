"""The actions of one branch, in the hands of its training: what happens at which moment, on whichever path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch

from headwise.actions.action import Action, HeldAction
from headwise.actions.config import BranchConfig
from headwise.actions.overrides import Override, applied, combined
from headwise.actions.subject import Subject
from headwise.core.errors import ConfigError
from headwise.model.config import ModelConfig
from headwise.model.decoder import Decoder
from headwise.model.engine import AttentionSummary, Engine, Visit

PREFIX = "held."
"""Of the arrays in a checkpoint that belong to actions."""

NONE: Mapping[str, np.ndarray] = {}


class _Taking(NamedTuple):
    """An action that takes means, with the weights at its turn: edits given before it are done, later ones are not."""

    number: int
    action: HeldAction
    weights: list[torch.Tensor]


class Held:
    """Applies the actions of a branch in their order, and knows which of them still hold."""

    def __init__(self, branch: BranchConfig, subject: Subject, *, path: str) -> None:
        self.branch, self.subject = branch, subject
        self.actions = branch.numbered()
        why = self._steered()
        if why is not None and path != "reference":
            raise ConfigError(f"compute.path = {path}: {why}; pass --compute.path reference")
        self.now = subject.step
        self._kept: list[tuple[HeldAction, Any]] = []
        self._made: dict[tuple[int, ...], list[Override]] = {}
        subject.optimiser.register_step_pre_hook(lambda *given: self._before_step())
        subject.optimiser.register_step_post_hook(lambda *given: self._after_step())

    def begin(self, arrays: Mapping[str, np.ndarray] = NONE, numbers: Sequence[int] = ()) -> None:
        """At the step of the branch: take over what goes on, do every action's edit in order, and take means.

        `arrays` are those of the parent's state and `numbers` those that the actions that go on have there.
        """
        own = len(self.branch.actions)
        for name, value in self._kept_in(arrays).items():
            number, _, place = name.partition(".")
            if int(number) in numbers:
                self.subject.constants[f"{own + numbers.index(int(number))}.{place}"] = value
        decoder = self.subject.decoder
        taking: list[_Taking] = []
        with torch.no_grad():
            for index, action in self.actions:
                if index >= own:
                    continue
                action.edit(self.subject, index=index)
                if isinstance(action, HeldAction) and action.takes_means():
                    weights = [parameter.detach().clone() for parameter in decoder.parameters()]
                    taking.append(_Taking(index, action, weights))
            self._take_means(taking)

    def resume(self, arrays: Mapping[str, np.ndarray], step: int) -> None:
        """Go on after this many steps with the constants that a checkpoint kept."""
        self.now = step
        self.subject.constants = self._kept_in(arrays)

    def constants(self) -> dict[str, np.ndarray]:
        """What a checkpoint must keep."""
        return {f"{PREFIX}{name}": value.cpu().numpy() for name, value in self.subject.constants.items()}

    @contextmanager
    def overriding(self) -> Iterator[None]:
        """The model as the actions that hold now make it."""
        with applied(self.subject.decoder, self._overrides(), steered=self._steered() is not None):
            yield

    def change_gradients(self) -> None:
        """After a backward pass, before clipping."""
        with torch.no_grad():
            for action in sorted((action for _, action in self._active()), key=lambda action: action.turn):
                action.gradients(self.subject)

    def complete_gradients(self) -> None:
        """Zeros where overrides left no gradient, so that the optimiser treats it alike everywhere."""
        if self._overrides():
            for parameter in self.subject.decoder.parameters():
                if parameter.grad is None:
                    parameter.grad = torch.zeros_like(parameter)

    def _take_means(self, taking: Sequence[_Taking]) -> None:
        """Every mean in the model that the branch is: with all that is held on other heads, in whatever order given.

        What is held reaches a head through the blocks before its own, and only from there, so means are taken block by
        block: those that are held before a head are known when it is measured. What is held on the head itself is not
        in force: its mean is that of its own attention.
        """
        decoder, steered = self.subject.decoder, self._steered() is not None
        for block in range(decoder.config.blocks):
            before = combined(decoder, self._replaced(range(block)))
            for number, action, weights in taking:
                here = action.within([block])
                if not here.places(decoder.config):
                    continue
                with _put(decoder, weights), applied(decoder, before, steered=steered):
                    self.subject.hold(number, here.measured(self.subject))

    def _before_step(self) -> None:
        self._kept = [(action, action.keep(self.subject)) for _, action in self._active()]

    def _after_step(self) -> None:
        with torch.no_grad():
            for action, kept in sorted(self._kept, key=lambda one: one[0].turn):
                action.after_step(self.subject, kept)
        self._kept = []
        self.now += 1

    def _overrides(self) -> list[Override]:
        """What is replaced now; made once for each set of actions that hold."""
        active = self._active()
        key = tuple(index for index, _ in active)
        if key not in self._made:
            decoder = self.subject.decoder
            self._made[key] = combined(decoder, self._replaced(range(decoder.config.blocks)))
        return self._made[key]

    def _replaced(self, blocks: Sequence[int]) -> list[Override]:
        """What every action that holds now replaces in some of the blocks, in their order."""
        return [
            override
            for index, action in self._active()
            for override in action.within(blocks).overrides(self.subject, index=index)
        ]

    def _active(self) -> list[tuple[int, HeldAction]]:
        return [(i, a) for i, a in self.actions if isinstance(a, HeldAction) and a.active(self.now)]

    def _steered(self) -> str | None:
        return reference_reason([action for _, action in self.actions], self.subject.decoder.config)

    def _kept_in(self, arrays: Mapping[str, np.ndarray]) -> dict[str, torch.Tensor]:
        device = self.subject.decoder.device
        return {
            name.removeprefix(PREFIX): torch.from_numpy(value).to(device)
            for name, value in arrays.items()
            if name.startswith(PREFIX)
        }


@contextmanager
def _put(decoder: Decoder, weights: Sequence[torch.Tensor]) -> Iterator[None]:
    """The model with these weights; afterwards it has its own again."""
    own = [parameter.detach().clone() for parameter in decoder.parameters()]
    try:
        for parameter, value in zip(decoder.parameters(), weights, strict=True):
            parameter.copy_(value)
        yield
    finally:
        for parameter, value in zip(decoder.parameters(), own, strict=True):
            parameter.copy_(value)


def reference_reason(actions: Sequence[Action], model: ModelConfig) -> str | None:
    """Which action only the reference path computes, and why; `None` if every path computes them all."""
    for action in actions:
        if isinstance(action, HeldAction) and (why := action.only_on_reference(model)) is not None:
            return f"{action} is computed on the reference path: {why}"
    return None


class HeldEngine:
    """An engine whose passes the actions of a branch reach."""

    def __init__(self, engine: Engine, held: Held) -> None:
        self.engine, self.held = engine, held
        self.decoder, self.name = engine.decoder, engine.name

    def loss_and_gradients(
        self, inputs: torch.Tensor, targets: torch.Tensor, *, step: int, dropout: bool = True
    ) -> float:
        with self.held.overriding():
            loss = self.engine.loss_and_gradients(inputs, targets, step=step, dropout=dropout)
        self.held.complete_gradients()
        self.held.change_gradients()
        return loss

    def in_force(self) -> AbstractContextManager[None]:
        """The decoder as the actions that hold now make it, for measurements that run it themselves."""
        return self.held.overriding()

    def evaluate(self, inputs: torch.Tensor, *, counted: int, visit: Visit) -> AttentionSummary:
        with self.held.overriding():
            return self.engine.evaluate(inputs, counted=counted, visit=visit)
