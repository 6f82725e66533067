"""Before a look at a torch model: what is inside its wrappers, where its weights are, and that it has any."""

from __future__ import annotations

import torch
from torch import nn

from headwise.core.errors import ConfigError


def unwrapped(model: object) -> object:
    """The model inside `torch.compile` and data-parallel wrappers, which compute the same function."""
    while isinstance(model, nn.Module):
        if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        else:
            break
    return model


def device_of(model: object) -> torch.device | None:
    """Where the model's weights are; `None` for a model without any."""
    if not isinstance(model, nn.Module):
        return None
    first = next((tensor for tensors in (model.parameters(), model.buffers()) for tensor in tensors), None)
    return None if first is None else first.device


def require_weights(model: object) -> None:
    """Refuse a model that has shapes but no numbers."""
    if isinstance(model, nn.Module) and any(parameter.is_meta for parameter in model.parameters()):
        raise ConfigError(
            f"{type(model).__name__} has parameters on the meta device, which hold no numbers; load its weights first"
        )
