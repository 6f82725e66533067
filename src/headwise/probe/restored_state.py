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

    Hooks that the user's own code has put on the model do run. Buffers that a model changes even in evaluation mode are
    not restored.
    """
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with (
            evaluating(model),
            torch.random.fork_rng(devices=_accelerators(model)),
            torch.no_grad(),
            uncompiled(model),
        ):
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002


@contextmanager
def evaluating(model: object) -> Iterator[None]:
    """Evaluation mode inside; afterwards every module is in the mode it was in before.

    Each module's flag is set by itself: `model.train(mode)` would switch frozen parts on again, and a class may have
    overridden it.
    """
    learning = [module for module in model.modules() if module.training] if isinstance(model, nn.Module) else []
    try:
        for module in learning:
            module.training = False
        yield
    finally:
        for module in learning:
            module.training = True


@contextmanager
def uncompiled(model: object) -> Iterator[None]:
    """Run what `torch.compile` has compiled as it was written: the hooks of a look would make it compile anew.

    What is compiled stays, so training goes on with it at once.
    """
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    compiled = {module: module._compiled_call_impl for module in modules if module._compiled_call_impl is not None}
    try:
        for module in compiled:
            module._compiled_call_impl = None
        with _parts_uncompiled(modules):
            yield
    finally:
        for module, call in compiled.items():
            module._compiled_call_impl = call


@contextmanager
def _parts_uncompiled(modules: list[nn.Module]) -> Iterator[None]:
    """The same for parts of a model that were compiled one by one.

    torch finds them itself, functions among them, from 2.6 on. Before, a compiled module is a wrapper whose `forward`
    is the compiled call.
    """
    if (set_stance := getattr(torch.compiler, "set_stance", None)) is not None:
        with set_stance("force_eager"):
            yield
        return
    wrappers = {module: vars(module)["forward"] for module in modules if "_orig_mod" in module._modules}
    try:
        for module in wrappers:
            vars(module)["forward"] = module._modules["_orig_mod"]
        yield
    finally:
        for module, call in wrappers.items():
            vars(module)["forward"] = call


def _accelerators(model: object) -> list[int]:
    if not isinstance(model, nn.Module):
        return []
    return sorted(
        {p.device.index for p in model.parameters() if p.device.type == "cuda" and p.device.index is not None}
    )
