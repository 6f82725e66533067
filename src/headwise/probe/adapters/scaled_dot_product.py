"""Attention of `torch.nn.functional.scaled_dot_product_attention`, which never returns it.

While this mode is on, every call is answered by torch as usual and its weights are computed once more, explicitly.
Kernels called without torch's function (flash-attn, xformers, flex attention) stay hidden.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from headwise.core.errors import ConfigError

Seen = Callable[[Tensor], None]
Change = Callable[[Tensor], Tensor]


class ScaledDotProducts(TorchFunctionMode):
    """Calls `seen` with the weights, (B, H, Q, K), of every scaled dot-product attention inside.

    `change`: what the heads put out of a sequence's attention to itself, (B, Q, H, E), and what to go on with instead.
    """

    def __init__(self, seen: Seen, change: Change | None = None) -> None:
        super().__init__()
        self._seen, self._change = seen, change

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is functional.scaled_dot_product_attention:
            weights = explicit_weights(*args, **(kwargs or {}))
            if self._change is not None and weights.shape[-2] == weights.shape[-1]:
                result = self._change(result.transpose(1, 2)).transpose(1, 2)
            self._seen(weights)
        return result


def explicit_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The softmax that torch's function applies to the values; its signature, without dropout."""
    if query.ndim != 4:
        raise ConfigError(
            f"scaled_dot_product_attention was called with shape {tuple(query.shape)}, where heads and sequences share "
            "a dimension; reshape to (batch, heads, positions, size) or pass a function from tokens to attention"
        )
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query.float() @ key.float().transpose(-2, -1) * factor
    if is_causal:
        ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(ahead, -math.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return scores.softmax(-1)
