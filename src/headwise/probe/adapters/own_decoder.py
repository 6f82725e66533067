"""headwise's own decoder (paper §2.2, §2.4), by its reference computation, whichever path trains it."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from headwise.core.errors import ConfigError
from headwise.measure.head_outputs import head_outputs, written
from headwise.model.decoder import Attention, Decoder
from headwise.probe.adapter import Batch, HeadWrites, Layer, Observer, rewrite_of


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
    rewrite = rewrite_of(observer)

    def hook(module: nn.Module, args: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor] | None:
        assert isinstance(module, Attention)
        y_BQO, a_BHQS = output
        z_BQHE = head_outputs(module, args[0], a_BHQS)
        instead = None if rewrite is None else y_BQO + written(module, rewrite(z_BQHE) - z_BQHE)
        matrix = module.output_OHE if module.config.output == "on" else None
        observer.layer(Layer(name, a_BHQS, writes=HeadWrites(z_BQHE, matrix)))
        return None if instead is None else (instead, a_BHQS)

    return hook


ADAPTER = OwnDecoder()
