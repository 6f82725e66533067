"""Any torch optimiser by name, and the one schedule of the paper."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn

from headwise.core.errors import ConfigError
from headwise.core.look import cause
from headwise.training.config import TrainConfig


def make_optimiser(parameters: Iterable[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    """The optimiser `train.optimizer` names, given those of `lr`, `weight_decay`, `momentum` and `options` it has."""
    kind = getattr(torch.optim, config.optimizer, None)
    if kind is None:
        raise ConfigError(f"train.optimizer = {config.optimizer!r} is not in this version of torch")
    accepted = inspect.signature(kind).parameters
    arguments: dict[str, float | int | bool] = {"lr": config.lr}
    if "weight_decay" in accepted:
        arguments["weight_decay"] = config.weight_decay
    if config.momentum and "momentum" not in accepted:
        raise ConfigError(f"train.momentum: {config.optimizer} has none; drop it or use SGD")
    if config.momentum:
        arguments["momentum"] = config.momentum
    for name, value in config.options.items():
        if name not in accepted:
            raise ConfigError(
                f"train.options.{name}: {config.optimizer} has no such argument; it takes {', '.join(accepted)}"
            )
        arguments[name] = value
    try:
        optimiser: torch.optim.Optimizer = kind(parameters, **arguments)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"train.optimizer {config.optimizer} refuses its arguments: {error}") from None
    return optimiser


MakeOptimiser = Callable[[Any], torch.optim.Optimizer]
"""From the parameters of a model to an optimiser of somebody's own."""


def made_by(make: MakeOptimiser, model: nn.Module) -> torch.optim.Optimizer:
    """The optimiser that somebody's own function makes of a model's parameters, checked."""
    try:
        optimiser = make(list(model.parameters()))
    except Exception as error:  # what other people's code raises is open-ended
        raise ConfigError(f"optimizer: making it failed: {cause(error)}") from error
    if not isinstance(optimiser, torch.optim.Optimizer):
        raise ConfigError(f"optimizer: the function gave a {type(optimiser).__name__}; return a torch optimiser")
    known = {id(parameter) for parameter in model.parameters()}
    if any(id(p) not in known for group in optimiser.param_groups for p in group["params"]):
        raise ConfigError("optimizer: it steps parameters that are not the model's; make it of those it is given")
    if isinstance(optimiser, torch.optim.LBFGS | torch.optim.SparseAdam):
        raise ConfigError(f"optimizer: {type(optimiser).__name__} does not take one gradient a step; take another")
    return optimiser


def make_schedule(
    optimiser: torch.optim.Optimizer, config: TrainConfig
) -> torch.optim.lr_scheduler.ReduceLROnPlateau | None:
    """ReduceLROnPlateau, or nothing for a constant rate. The loop steps it once per pass over the data."""
    if config.schedule == "constant":
        return None
    return torch.optim.lr_scheduler.ReduceLROnPlateau(optimiser, patience=config.patience, factor=config.factor)
