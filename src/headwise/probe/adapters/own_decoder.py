"""headwise's own decoder (paper §2.2, §2.4), by its reference computation, whichever path trains it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from headwise.core.errors import ConfigError
from headwise.model.decoder import Attention, Decoder, one_head
from headwise.probe.adapter import Batch, HeadWrites, Layer, Observer


class OwnDecoder:
    """Attention of every query; which queries count is the probe's business."""

    name = "headwise"

    def claims(self, model: object) -> bool:
        return isinstance(model, Decoder)

    def show(self, model: Decoder, batch: Batch, observer: Observer) -> None:
        tokens = batch.tokens
        if tokens.ndim != 2 or tokens.shape[1] != model.positions:
            raise ConfigError(
                f"this decoder takes sequences of exactly {model.positions} tokens, got shape {tuple(tokens.shape)}"
            )
        handles = [
            block.attention.register_forward_hook(_after(f"blocks.{index}.attention", observer))
            for index, block in enumerate(model.layers)
        ]
        try:
            logits, _ = model(tokens, model.positions)
        finally:
            for handle in handles:
                handle.remove()
        observer.output({"logits": logits})

    def advice(self, model: Decoder) -> str:
        return "the decoder has no blocks"


def _after(name: str, observer: Observer) -> Any:
    def hook(module: nn.Module, args: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        assert isinstance(module, Attention)
        a_BHQS = output[1]
        observer.layer(Layer(name, a_BHQS, writes=_writes(module, args[0], a_BHQS)))

    return hook


def _writes(attention: Attention, x_BSD: Tensor, a_BHQS: Tensor) -> HeadWrites:
    heads = []
    for head in range(attention.config.heads):
        v_BSE = x_BSD @ one_head(attention.value_HED, head).T
        if attention.config.attention_bias == "on":
            v_BSE = v_BSE + attention.value_bias_HE[head]
        heads.append(a_BHQS[:, head] @ v_BSE)
    output = attention.output_OHE if attention.config.output == "on" else None
    return HeadWrites(torch.stack(heads, dim=2), output)


ADAPTER = OwnDecoder()
