"""A look at a model changes nothing of it: modes, gradients and random states are restored afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from torch import nn


@contextmanager
def state_restored(model: object) -> Iterator[None]:
    """Evaluation mode without gradients inside; afterwards modes and random states are what they were before.

    Each module's flag is set by itself: `model.train(mode)` would switch frozen parts on again, and a class may have
    overridden it. Hooks that the user's own code has put on the model do run. Buffers that a model changes even in
    evaluation mode are not restored.
    """
    learning = [module for module in model.modules() if module.training] if isinstance(model, nn.Module) else []
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        for module in learning:
            module.training = False
        with torch.random.fork_rng(devices=_accelerators(model)), torch.no_grad(), uncompiled(model):
            yield
    finally:
        for module in learning:
            module.training = True
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002


@contextmanager
def uncompiled(model: object) -> Iterator[None]:
    """Run what `torch.compile` has compiled as it was written: the hooks of a look would make it compile anew.

    What is compiled stays, so training goes on with it at once.
    """
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    compiled = {module: module._compiled_call_impl for module in modules if module._compiled_call_impl is not None}
    set_stance = getattr(torch.compiler, "set_stance", None)
    try:
        for module in compiled:
            module._compiled_call_impl = None
        # Parts of a model that were compiled one by one are found by torch itself, where it can be told.
        with set_stance("force_eager") if set_stance is not None else nullcontext():
            yield
    finally:
        for module, call in compiled.items():
            module._compiled_call_impl = call


def _accelerators(model: object) -> list[int]:
    if not isinstance(model, nn.Module):
        return []
    return sorted(
        {p.device.index for p in model.parameters() if p.device.type == "cuda" and p.device.index is not None}
    )
