"""Gradients of the plain models with headwise's own dropout masks: an independent check of every path.

torch draws its masks from a generator; here its dropout is replaced by the masks of `model.dropout`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import torch
from torch import Tensor, nn

from headwise.bench.plain import Plain, PlainMinimal, plain_model, plain_step
from headwise.model.decoder import Decoder
from headwise.model.dropout import DropoutMasks, Site


def plain_gradients(decoder: Decoder, inputs: Tensor, targets: Tensor, *, seed: int, step: int) -> list[Tensor]:
    """Gradients of the plain model with the given dropout masks, in the shapes of the decoder's parameters."""
    model = plain_model(decoder)
    with given_masks(model, decoder, DropoutMasks(seed=seed, step=step), targets.shape[1]):
        plain_step(model, inputs, targets, chunk=None)
    return model.gradients_like(decoder)


@contextmanager
def given_masks(model: Plain, decoder: Decoder, masks: DropoutMasks, counted: int) -> Iterator[None]:
    """Let a plain model drop what `masks` say. They cover the counted queries; nothing else reaches the loss."""
    if isinstance(model, PlainMinimal):
        yield
        return
    rates, last = decoder.config.dropout, decoder.config.blocks - 1
    model.add_module("dropout", _Given(masks, rates.embedding, Site.EMBEDDING, 0, decoder.positions))
    drops = [_Given(masks, rates.attention, Site.ATTENTION, b, counted if b == last else decoder.positions)
             for b in range(last + 1)]  # fmt: skip
    current: list[_Given] = []
    with ExitStack() as stack:
        for block, layer in enumerate(model.encoder_layers):
            queries = counted if block == last else decoder.positions
            layer.add_module("dropout", _Given(masks, rates.mlp, Site.MLP, block, queries))
            layer.add_module("dropout2", _Given(masks, rates.mlp_branch, Site.MLP_BRANCH, block, queries))
            branch = _Given(masks, rates.attention_branch, Site.ATTENTION_BRANCH, block, queries)

            def attend(
                x: Tensor,
                attn_mask: Tensor,
                key_padding_mask: Tensor | None,
                is_causal: bool = False,
                *,
                own: nn.MultiheadAttention = layer.self_attn,
                branch: _Given = branch,
                drop: _Given = drops[block],
            ) -> Tensor:
                # Asked for its weights, torch applies its dropout function to them; that function is replaced below.
                current[:] = [drop]
                return branch.forward(own(x, x, x, attn_mask=attn_mask, need_weights=True)[0])

            stack.enter_context(mock.patch.object(layer, "_sa_block", attend))

        def drop(weights: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
            split = weights.view(-1, decoder.config.heads, *weights.shape[-2:])
            return current[0].forward(split).view_as(weights)

        stack.enter_context(mock.patch("torch.nn.functional.dropout", drop))
        yield


class _Given(nn.Module):
    def __init__(self, masks: DropoutMasks, rate: float, site: Site, block: int, counted: int) -> None:
        super().__init__()
        self.masks, self.rate, self.site, self.block, self.counted = masks, rate, site, block, counted

    def forward(self, x: Tensor) -> Tensor:
        before, seen = x[..., : -self.counted, :], x[..., -self.counted :, :]
        if self.counted == x.shape[-2]:
            before = x[..., :0, :]
        return torch.cat([before, self.masks.apply(seen, self.rate, block=self.block, site=self.site)], dim=-2)
