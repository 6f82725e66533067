"""The decoder of a run: its shape from the run's config, on a device that exists on this machine."""

from __future__ import annotations

import torch

from headwise.core.errors import ConfigError
from headwise.model.decoder import Decoder
from headwise.model.input_rows import positions_needed
from headwise.study.config import RunConfig


def new_decoder(config: RunConfig) -> Decoder:
    """The decoder of a run; its weights are not set yet."""
    device = usable_device(config.compute.device)
    positions = positions_needed(config.model, order=config.task.w, predicted=config.task.T)
    decoder = Decoder(config.model, dictionary=config.task.d, positions=positions)
    return decoder.to(dtype=getattr(torch, config.compute.dtype), device=device)


def usable_device(name: str) -> torch.device:
    """The torch device of that name, once a tensor could be put on it."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).strip().splitlines()[0]
        raise ConfigError(f"--device {name} cannot be used here; take cpu or another torch device ({reason})") from None
    return device
