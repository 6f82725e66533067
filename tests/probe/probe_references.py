"""What the probe is checked against: the slow way from full attention maps, and everything a look must keep."""

from __future__ import annotations

import random

import numpy as np
import torch
from torch import Tensor, nn


def naive_by_lag(maps: Tensor, lags: np.ndarray) -> np.ndarray:
    """Mean share of each lag, (blocks, heads, lags), from maps (blocks, B, H, S, S), one key at a time."""
    mean = maps.double().mean(1).numpy()
    size = mean.shape[-1]
    shares = np.zeros((*mean.shape[:2], len(lags)))
    for i, lag in enumerate(lags):
        for query in range(size):
            key = query + 1 - lag
            if 0 <= key < size:
                shares[..., i] += mean[..., query, key] / size
    return shares


class Remembered:
    """A model's state before a look; `require_same` afterwards."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self.modes = {name: module.training for name, module in model.named_modules()}
        self.hooks = self._hooks()
        self.weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        self.gradients = {n: None if p.grad is None else p.grad.clone() for n, p in model.named_parameters()}
        self.implementations = self._implementations()
        self.fused = torch.backends.mha.get_fastpath_enabled()
        self.random = (torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate())  # noqa: NPY002

    def require_same(self) -> None:
        model = self.model
        assert {name: module.training for name, module in model.named_modules()} == self.modes
        assert self._hooks() == self.hooks
        assert self._implementations() == self.implementations
        assert torch.backends.mha.get_fastpath_enabled() == self.fused
        assert all(torch.equal(tensor, self.weights[name]) for name, tensor in model.state_dict().items())
        for name, parameter in model.named_parameters():
            before = self.gradients[name]
            assert (parameter.grad is None) == (before is None)
            assert before is None or torch.equal(parameter.grad, before)
        assert torch.equal(torch.get_rng_state(), self.random[0])
        assert np.array_equal(np.random.get_state()[1], self.random[1])  # noqa: NPY002
        assert random.getstate() == self.random[2]
        assert torch.is_grad_enabled()

    def _hooks(self) -> dict[str, tuple[int, ...]]:
        kinds = ("_forward_hooks", "_forward_pre_hooks", "_forward_hooks_with_kwargs", "_forward_pre_hooks_with_kwargs")
        return {
            name: tuple(len(getattr(module, kind)) for kind in kinds) for name, module in self.model.named_modules()
        }

    def _implementations(self) -> dict[str, object]:
        return {
            name: module.config._attn_implementation
            for name, module in self.model.named_modules()
            if hasattr(getattr(module, "config", None), "_attn_implementation")
        }
