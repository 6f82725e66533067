"""A look at a model changes nothing of it: modes, gradients and random states are restored afterwards."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

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
        with torch.random.fork_rng(devices=_accelerators(model)), torch.no_grad():
            yield
    finally:
        for module in learning:
            module.training = True
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002


def _accelerators(model: object) -> list[int]:
    if not isinstance(model, nn.Module):
        return []
    return sorted(
        {p.device.index for p in model.parameters() if p.device.type == "cuda" and p.device.index is not None}
    )
