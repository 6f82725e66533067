"""Before a look at a torch model: what is inside its wrappers, where its weights are, and that it has any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeGuard

import torch
from torch import nn

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch


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


@contextmanager
def lookups_explained(model: object, batch: Batch) -> Iterator[None]:
    """What a model's embedding says about ids that it does not have, as a sentence about the tokens.

    Only once it has failed: a model may well take floats of two dimensions and look up something else.
    """
    try:
        yield
    except (IndexError, RuntimeError) as error:
        sizes = [m.num_embeddings for m in model.modules() if isinstance(m, nn.Embedding)] if _is_torch(model) else []
        if not sizes or batch.tokens.ndim != 2:
            raise
        if batch.tokens.is_floating_point():
            if "indices" not in str(error):
                raise
            kind = str(batch.tokens.dtype).removeprefix("torch.")
            raise ConfigError(
                f"tokens are {kind}, and {type(model).__name__} looks up ids; give whole numbers, such as tokens.long()"
            ) from error
        low, high = int(batch.tokens.min()), int(batch.tokens.max())
        if not isinstance(error, IndexError) or (low >= 0 and high < min(sizes)):
            raise
        raise ConfigError(f"tokens range over {low}..{high}, the model has 0..{max(sizes) - 1}") from error


def _is_torch(model: object) -> TypeGuard[nn.Module]:
    return isinstance(model, nn.Module)
