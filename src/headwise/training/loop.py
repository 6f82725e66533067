"""The training loop, on one page, for any task and any metric: batches, validation and observers are given to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headwise.model.engine import Engine
from headwise.training.config import TrainConfig
from headwise.training.optimisers import MakeOptimiser, made_by, make_optimiser, make_schedule
from headwise.training.passes import drops, steps_per_pass


class Diverged(Exception):
    """The loss or its gradient is no longer a number; the weights are still those before the step."""

    def __init__(self, step: int) -> None:
        super().__init__(f"the loss is not finite at step {step}")
        self.step = step


@dataclass
class Training:
    """A model, its optimiser and how far they have come."""

    engine: Engine
    config: TrainConfig
    step: int = 0
    first: int = 0
    """The step at which it begins: later than 0 in a branch of another run."""
    batch_loss: float = math.nan
    """Loss of the batch behind the latest step, before that step."""
    own_optimiser: MakeOptimiser | None = None
    """Instead of the optimiser that the config names: a function from parameters to one."""
    optimiser: torch.optim.Optimizer = field(init=False)
    schedule: torch.optim.lr_scheduler.ReduceLROnPlateau | None = field(init=False)

    def __post_init__(self) -> None:
        model = self.engine.decoder
        if self.own_optimiser is None:
            self.optimiser = make_optimiser(model.parameters(), self.config)
        else:
            self.optimiser = made_by(self.own_optimiser, model)
        self.schedule = make_schedule(self.optimiser, self.config)

    @property
    def rate(self) -> float:
        return float(self.optimiser.param_groups[0]["lr"])


def advance(
    training: Training,
    *,
    rows: Callable[[int], tuple[Tensor, Tensor]],
    validate: Callable[[], float],
    observe: Callable[[Training], None],
    save: Callable[[Training], None],
) -> None:
    """Train from where `training` stands to its last step.

    `rows` gives a step's inputs and targets, `observe` is called after every step (and before the first), `save`
    whenever the run must be resumable. Neither can change the weights, so no measurement changes training.
    """
    config, parameters = training.config, list(training.engine.decoder.parameters())
    per_pass = steps_per_pass(config)
    if training.step == training.first:
        observe(training)
    while training.step < config.steps:
        inputs, targets = rows(training.step)
        loss = training.engine.loss_and_gradients(
            inputs, targets, step=training.step, dropout=drops(config, training.step)
        )
        norm = torch.nn.utils.clip_grad_norm_(parameters, config.clip if config.clip is not None else math.inf)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise Diverged(training.step)
        training.optimiser.step()
        training.step += 1
        training.batch_loss = loss
        if training.schedule is not None and training.step % per_pass == 0:
            training.schedule.step(validate())
        observe(training)
        if training.step % config.checkpoint_every == 0 or training.step == config.steps:
            save(training)
