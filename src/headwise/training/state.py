"""Everything a run needs to go on as if it had never stopped, as named arrays and plain values.

Batches, dropout and initial weights are functions of seeds and steps, so the state is the weights, the optimiser's
memory and the schedule's; there is no generator to save. Floats that must return to the last bit are kept as
hexadecimal text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn

PLATEAU_COUNTERS = ("num_bad_epochs", "cooldown_counter", "last_epoch")


def pack(
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    schedule: torch.optim.lr_scheduler.ReduceLROnPlateau | None,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays for a safetensors file and a JSON-able rest."""
    arrays = {f"model.{name}": _array(p) for name, p in model.named_parameters()}
    memory: dict[str, dict[str, Any]] = {}
    names = [name for name, _ in model.named_parameters()]
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
    parameters = dict(model.named_parameters())
    memory: dict[int, dict[str, Any]] = {}
    with torch.no_grad():
        for index, (name, parameter) in enumerate(parameters.items()):
            parameter.copy_(torch.from_numpy(arrays[f"model.{name}"]))
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
    for group, rate in zip(optimiser.param_groups, rest["rates"], strict=True):
        group["lr"] = float.fromhex(rate)
    if schedule is not None:
        for key in PLATEAU_COUNTERS:
            setattr(schedule, key, rest["plateau"][key])
        schedule.best = float.fromhex(rest["plateau_best"])


def load_weights(arrays: dict[str, np.ndarray], model: nn.Module) -> None:
    """Only the weights of a packed state."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(arrays[f"model.{name}"]))


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().numpy()
