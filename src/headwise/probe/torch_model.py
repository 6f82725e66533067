"""Before a look at a torch model: what is inside its wrappers, where its weights are, and that it has any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeGuard

import torch
from torch import nn

from headwise.core.errors import ConfigError, HeadwiseError
from headwise.core.look import cause
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
def failures_explained(model: object, batch: Batch) -> Iterator[None]:
    """What a model's own code raises for a batch, as a sentence about the batch.

    Only once it has failed: a model may well take floats of two dimensions and look up something else.
    """
    try:
        yield
    except (HeadwiseError, OSError, MemoryError):
        raise
    except Exception as error:  # what a model's own code raises is open-ended
        raise ConfigError(_about_ids(model, batch, error) or _in_general(model, batch, error)) from error


def _about_ids(model: object, batch: Batch, error: Exception) -> str | None:
    """The sentence where an embedding was asked for ids that it does not have; `None` where it is something else."""
    sizes = [m.num_embeddings for m in model.modules() if isinstance(m, nn.Embedding)] if _is_torch(model) else []
    if not sizes or batch.tokens.ndim != 2:
        return None
    if not batch.tokens.dtype.is_floating_point and batch.tokens.dtype != torch.bool:
        low, high = int(batch.tokens.min()), int(batch.tokens.max())
        outside = isinstance(error, IndexError) and (low < 0 or high >= min(sizes))
        return f"tokens range over {low}..{high}, the model has 0..{max(sizes) - 1}" if outside else None
    if "indices" not in str(error):
        return None
    return (
        f"tokens are {_kind(batch)}, and {type(model).__name__} looks up ids; give whole numbers, such as tokens.long()"
    )


def _in_general(model: object, batch: Batch, error: Exception) -> str:
    others = f" and {', '.join(batch.others)}" if batch.others else ""
    shown = f"tokens of shape {tuple(batch.tokens.shape)} ({_kind(batch)}){others}"
    return f"{type(model).__name__} cannot be run on {shown}: {cause(error)}"


def _kind(batch: Batch) -> str:
    return str(batch.tokens.dtype).removeprefix("torch.")


def _is_torch(model: object) -> TypeGuard[nn.Module]:
    return isinstance(model, nn.Module)
