"""Any torch module whose attention is `nn.MultiheadAttention` or `functional.scaled_dot_product_attention`.

`nn.MultiheadAttention` returns its weights only when asked for them, and `nn.TransformerEncoderLayer` replaces it by a
fused kernel outside training. In the probe's own pass the weights are asked for and the fused kernel is off; each
caller still gets back what it asked for.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch, HeadWrites, Layer, Observer, Rewrite, rewrite_of
from headwise.probe.adapters.scaled_dot_product import ScaledDotProducts

SIGNATURE = inspect.signature(nn.MultiheadAttention.forward)


class TorchModules:
    """Layers in the order of their calls; a module that is called twice counts as two layers."""

    name = "torch"

    def claims(self, model: object) -> bool:
        return isinstance(model, nn.Module)

    def show(self, model: nn.Module, batch: Batch, observer: Observer) -> None:
        calls = 0

        def seen(weights: Tensor) -> None:
            nonlocal calls
            calls += 1
            _hand_over(Layer(f"attention call {calls}", weights, batch.valid_BS), observer)

        layers = [module for module in model.modules() if isinstance(module, nn.TransformerDecoderLayer)]
        cross = {id(layer.multihead_attn) for layer in layers}
        with ExitStack() as stack:
            stack.enter_context(no_fused_path())
            stack.enter_context(ScaledDotProducts(seen, rewrite_of(observer)))
            for name, module in model.named_modules():
                if not isinstance(module, nn.MultiheadAttention):
                    continue
                if id(module) in cross:
                    observer.note(f"{name} attends to another sequence and is left out")
                    continue
                stack.enter_context(_shown(module, name or type(module).__name__, observer))
            if batch.keyword:
                output = model(**batch.keywords(batch.keyword))
            elif isinstance(model, nn.MultiheadAttention):
                output = model(batch.tokens, batch.tokens, batch.tokens, **batch.others)
            else:
                output = model(batch.tokens, **batch.others)
        observer.output(output)

    def advice(self, model: nn.Module) -> str:
        return (
            f"looked for nn.MultiheadAttention and scaled_dot_product_attention in {type(model).__name__} "
            f"({sum(1 for _ in model.modules())} modules); if it computes attention another way, "
            "pass a function from tokens to attention"
        )


@contextmanager
def no_fused_path() -> Iterator[None]:
    """Off for this pass: the kernels that replace a whole encoder layer."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


@contextmanager
def _shown(module: nn.MultiheadAttention, name: str, observer: Observer) -> Iterator[None]:
    """Ask the module for each head's weights, hand them over, and return what the caller had asked for."""
    if module.bias_k is not None or module.add_zero_attn:
        raise ConfigError(
            f"{name} attends to learned or zero entries that are no positions (add_bias_kv, add_zero_attn), "
            "so its attention by lag does not add up to one; pass a function from tokens to attention"
        )
    asked: list[inspect.BoundArguments] = []

    def before(
        module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        call = SIGNATURE.bind(module, *args, **kwargs)
        call.apply_defaults()
        asked.append(call)
        given = dict(call.arguments, need_weights=True, average_attn_weights=False)
        del given["self"]
        return (), given

    def after(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> Any:
        call = asked.pop().arguments
        written, weights = output
        batched = weights if weights.ndim == 4 else weights[None]
        writes = _writes(module, kwargs, batched)
        rewrite = rewrite_of(observer)
        if rewrite is not None and writes is not None and batched.shape[-2] == batched.shape[-1]:
            written = _rewritten(module, written, writes, rewrite)
        _hand_over(Layer(name, batched, _valid(kwargs["key_padding_mask"]), writes), observer)
        if not call["need_weights"]:
            return written, None
        return written, weights.mean(-3) if call["average_attn_weights"] else weights

    handles = [
        module.register_forward_pre_hook(before, with_kwargs=True),
        module.register_forward_hook(after, with_kwargs=True),
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _hand_over(layer: Layer, observer: Observer) -> None:
    queries, keys = layer.attention_BHQK.shape[-2:]
    if queries == keys:
        observer.layer(layer)
    else:
        observer.note(f"{layer.name} has {queries} queries on {keys} keys, attends to another sequence, is left out")


def _valid(key_padding_mask: Tensor | None) -> Tensor | None:
    if key_padding_mask is None:
        return None
    real = ~key_padding_mask if key_padding_mask.dtype == torch.bool else key_padding_mask == 0
    return real if real.ndim == 2 else real[None]


def _writes(module: Any, call: dict[str, Any], weights_BHQK: Tensor) -> HeadWrites | None:
    """Each head's mixture of values, and the columns of the output matrix that it goes through."""
    value: Tensor = call["value"]
    if value.is_nested:
        return None
    if value.ndim == 2:
        value = value[None]
    elif not module.batch_first:
        value = value.transpose(0, 1)
    heads, width = module.num_heads, module.embed_dim
    matrix = module.in_proj_weight[2 * width :] if module._qkv_same_embed_dim else module.v_proj_weight
    bias = None if module.in_proj_bias is None else module.in_proj_bias[2 * width :]
    v_BSHE = functional.linear(value, matrix, bias).reshape(*value.shape[:2], heads, -1)
    z_BSHE = torch.einsum("bhqk,bkhe->bqhe", weights_BHQK, v_BSHE)
    return HeadWrites(z_BSHE, module.out_proj.weight.reshape(width, heads, -1))


def _rewritten(module: Any, written: Tensor, writes: HeadWrites, rewrite: Rewrite) -> Tensor:
    """What the module returns once its heads put out something else: its output matrix is linear and calls no hook."""
    change_BSD: Tensor = (rewrite(writes.z_BSHE) - writes.z_BSHE).flatten(2) @ module.out_proj.weight.T
    if written.ndim == 2:
        return written + change_BSD[0]
    return written + (change_BSD if module.batch_first else change_BSD.transpose(0, 1))


ADAPTER = TorchModules()
