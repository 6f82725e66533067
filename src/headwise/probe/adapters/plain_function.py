"""Any function from tokens to attention: the adapter for models that nothing else can look into.

The function returns one array (blocks, B, H, Q, K), or (B, H, Q, K) for a single block, or one such per block in a
list; torch tensors and anything numpy understands are taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch, Layer, Observer


class PlainFunction:
    """Attention as the function gives it."""

    name = "function"

    def claims(self, model: object) -> bool:
        return callable(model)

    def show(self, model: Callable[..., Any], batch: Batch, observer: Observer) -> None:
        given = model(**batch.keywords(batch.keyword)) if batch.keyword else model(batch.tokens, **batch.others)
        for index, attention in enumerate(_blocks(given), start=1):
            observer.layer(Layer(f"block {index}", attention, batch.valid_BS))

    def advice(self, model: Any) -> str:
        return "the function returned no blocks; return attention of shape (blocks, B, H, Q, K)"


def _blocks(given: Any) -> list[Tensor]:
    parts = list(given) if isinstance(given, Sequence) else [given]
    tensors = [part.detach() if isinstance(part, Tensor) else torch.as_tensor(np.asarray(part)) for part in parts]
    if len(tensors) == 1 and tensors[0].ndim == 5:
        tensors = list(tensors[0])
    for tensor in tensors:
        if tensor.ndim != 4 or not tensor.is_floating_point():
            raise ConfigError(
                f"the function gave an array of shape {tuple(tensor.shape)} and type {tensor.dtype}; "
                "attention of a block is (B, H, Q, K), real numbers"
            )
    return tensors


ADAPTER = PlainFunction()
