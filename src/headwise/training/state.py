"""Everything a run needs to go on as if it had never stopped, as named arrays and plain values.

Batches, dropout and initial weights are functions of seeds and steps, so the state is the weights, the optimiser's
memory and the schedule's; there is no generator to save. Floats that must return to the last bit are kept as
hexadecimal text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import nn

from headwise.core.errors import ConfigError

PLATEAU_COUNTERS = ("num_bad_epochs", "cooldown_counter", "last_epoch")


def pack(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.ReduceLROnPlateau | None,
    *,
    own: bool = False,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays for a safetensors file and a JSON-able rest.

    The settings of an optimiser of somebody's `own` may change from step to step, so they are kept too.
    """
    arrays = {f"model.{name}": _array(p) for name, p in model.named_parameters()}
    arrays |= {f"buffer.{name}": _array(b) for name, b in _kept_buffers(model).items()}
    memory: dict[str, dict[str, Any]] = {}
    names = _stepped_names(model, optimiser)
    for index, entries in optimiser.state_dict()["state"].items():
        for key, value in entries.items():
            if isinstance(value, torch.Tensor):
                arrays[f"optimiser.{names[index]}.{key}"] = _array(value)
            else:
                memory.setdefault(names[index], {})[key] = value
    rest: dict[str, Any] = {
        "optimiser": memory,
        "rates": [float(group["lr"]).hex() for group in optimiser.param_groups],
    }
    if own:
        rest["groups"] = [_plain_settings(group) for group in optimiser.param_groups]
    if schedule is not None:
        rest["plateau"] = {key: getattr(schedule, key) for key in PLATEAU_COUNTERS}
        rest["plateau_best"] = float(schedule.best).hex()
    return arrays, rest


def unpack(
    arrays: dict[str, np.ndarray],
    rest: dict[str, Any],
    *,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.ReduceLROnPlateau | None,
) -> None:
    """Put a packed state back, bit for bit."""
    memory: dict[int, dict[str, Any]] = {}
    load_weights(arrays, model)
    with torch.no_grad():
        for index, name in enumerate(_stepped_names(model, optimiser)):
            entries = dict(rest["optimiser"].get(name, {}))
            prefix = f"optimiser.{name}."
            for key, value in arrays.items():
                if key.startswith(prefix) and "." not in key[len(prefix) :]:
                    entries[key[len(prefix) :]] = torch.from_numpy(np.array(value))
            if entries:
                memory[index] = entries
    loaded = optimiser.state_dict()
    loaded["state"] = memory
    optimiser.load_state_dict(loaded)
    for group, settings in zip(optimiser.param_groups, rest.get("groups", ()), strict=False):
        for key, value in settings.items():
            group[key] = tuple(value) if isinstance(group.get(key), tuple) else value
    for group, rate in zip(optimiser.param_groups, rest["rates"], strict=True):
        group["lr"] = float.fromhex(rate)
    if schedule is not None:
        for key in PLATEAU_COUNTERS:
            setattr(schedule, key, rest["plateau"][key])
        schedule.best = float.fromhex(rest["plateau_best"])


def load_weights(arrays: dict[str, np.ndarray], model: nn.Module) -> None:
    """Only the weights of a packed state, and the buffers of a module that keeps some with them."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(arrays[f"model.{name}"]))
        for name, buffer in _kept_buffers(model).items():
            buffer.copy_(torch.from_numpy(arrays[f"buffer.{name}"]))


def _array(tensor: torch.Tensor) -> np.ndarray:
    try:
        return tensor.detach().cpu().contiguous().numpy()
    except TypeError as error:
        kind = str(tensor.dtype).removeprefix("torch.")
        raise ConfigError(f"model: {kind} cannot be kept in a checkpoint; train in float32 or float64") from error


def _stepped_names(model: nn.Module, optimiser: torch.optim.Optimizer) -> list[str]:
    """The names of the parameters in the order in which the optimiser counts them, which may be by groups."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    return [names[id(parameter)] for group in optimiser.param_groups for parameter in group["params"]]


def _kept_buffers(model: nn.Module) -> dict[str, torch.Tensor]:
    """Buffers that belong to a module's state, such as running means; headwise's decoders have none."""
    kept = model.state_dict()
    return {name: buffer for name, buffer in model.named_buffers() if name in kept}


def _plain_settings(group: Mapping[str, Any]) -> dict[str, Any]:
    """Everything in an optimiser's group that JSON can hold, but for the rate, which has a place of its own."""
    plain: dict[str, Any] = {}
    for key, value in group.items():
        given = list(value) if isinstance(value, tuple) else value
        parts = given if isinstance(given, list) else [given]
        if key not in ("params", "lr") and all(type(part) in (str, int, float, bool, type(None)) for part in parts):
            plain[key] = given
    return plain
