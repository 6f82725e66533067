"""Losses of training steps between looks, kept on their device and read at the look, so that no step waits for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwise.core.errors import ConfigError
from headwise.probe.look_loss import LossValue

TOGETHER = 1024
"""Losses that are joined into one tensor."""


class TrainingLosses:
    """Losses of single steps, or means that somebody else has taken over several."""

    def __init__(self) -> None:
        self._last: list[Tensor] = []
        self._joined: list[Tensor] = []
        self._numbers: list[float] = []
        self._means: list[tuple[float, int, float]] = []

    def add(self, loss: float | Tensor) -> None:
        """The loss of one step; a tensor is copied, not read."""
        if not isinstance(loss, Tensor):
            self._numbers.append(_number(loss))
            return
        if loss.numel() != 1:
            raise ConfigError(f"step() takes the loss as one number, not a tensor of shape {tuple(loss.shape)}")
        self._last.append(loss.detach().reshape(()).clone())
        if len(self._last) == TOGETHER:
            self._join()

    def add_mean(self, mean: float, *, steps: int, time: float) -> None:
        """A mean over the losses of some steps, and the time it belongs to."""
        self._means.append((mean, steps, time))

    def take(self, *, start: float, end: float) -> LossValue:
        """The mean of everything since the last call, dated at the middle of the interval from `start` to `end`."""
        self._join()
        parts = [part.float().cpu().double().numpy() for part in self._joined]
        values = np.concatenate([*parts, np.asarray(self._numbers, dtype=float)])
        means, self._joined, self._numbers, self._means = self._means, [], [], []
        if len(values) or not means:
            return LossValue.of(values, time=(start + end) / 2)
        mean, steps, time = np.asarray(means).T
        total = float(steps.sum())
        return LossValue(float(mean @ steps / total), np.nan, total, float(time @ steps / total))

    def _join(self) -> None:
        """One tensor for each kind and device."""
        while self._last:
            first = self._last[0]
            alike = [loss for loss in self._last if (loss.dtype, loss.device) == (first.dtype, first.device)]
            self._last = [loss for loss in self._last if (loss.dtype, loss.device) != (first.dtype, first.device)]
            self._joined.append(torch.stack(alike))


def _number(loss: Any) -> float:
    try:
        return float(loss)
    except (TypeError, ValueError):
        inside = "; give its .loss" if isinstance(getattr(loss, "loss", None), Tensor) else ""
        raise ConfigError(f"step() takes the loss as one number, not a {type(loss).__name__}{inside}") from None
