"""The model as it was: mode, random streams, gradients and fast paths are restored after a look at it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from headwise.core.errors import ConfigError


@contextmanager
def untouched(model: object) -> Iterator[None]:
    """A forward pass inside sees evaluation mode and no gradients; afterwards everything is as before.

    Each module's flag is set by itself: `model.train(mode)` would switch frozen parts on again, and a class may have
    overridden it. Hooks that the user's own code has put on the model do run. Buffers that a model updates in
    evaluation mode are its own affair.
    """
    learning = [module for module in model.modules() if module.training] if isinstance(model, nn.Module) else []
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        for module in learning:
            module.training = False
        with torch.random.fork_rng(devices=_accelerators(model)), torch.no_grad():
            yield
    finally:
        for module in learning:
            module.training = True
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002


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


def _accelerators(model: object) -> list[int]:
    if not isinstance(model, nn.Module):
        return []
    return sorted(
        {p.device.index for p in model.parameters() if p.device.type == "cuda" and p.device.index is not None}
    )
