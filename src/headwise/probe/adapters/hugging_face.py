"""Hugging Face transformers: every model whose attention layers return their weights under the eager implementation.

That is the library's common interface (decoders such as GPT-2, Llama, GPT-NeoX, Qwen and Mistral, encoders such as
BERT): class names with `Attention` in them, a pair (output, weights) from each. Grouped queries, sliding windows,
rotary positions and ALiBi are the model's own computation and arrive here as plain weights. Of language models the head
runs too where the observer wants the output, of all others the base model alone. The library itself is never imported
here: a model of it brings it along.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch, HeadWrites, Layer, Observer, rewrite_of
from headwise.probe.adapters.scaled_dot_product import ScaledDotProducts

OUTPUT_NAMES = ("o_proj", "c_proj", "dense", "out_proj", "out_lin", "wo", "Wo", "o")
"""What the families call the matrix after the heads."""

OTHER_SEQUENCE = ("key_value_states", "encoder_hidden_states")
"""Arguments of an attention module by which it is given another sequence to attend to."""

CAUSAL, MASKED = ("ForCausalLM", "LMHeadModel"), "ForMaskedLM"
"""How the library's language models are called."""


class HuggingFace:
    """Layers in the order of their calls, so that layers with shared weights count each time."""

    name = "hugging_face"

    def claims(self, model: object) -> bool:
        library = sys.modules.get("transformers")
        return library is not None and isinstance(model, library.PreTrainedModel)

    def show(self, model: Any, batch: Batch, observer: Observer) -> None:
        _require_decodable(model, batch)
        base = model.base_model
        run = model if observer.wants_output and has_logits(model, batch) else base
        arguments = batch.keywords("input_ids")
        arguments.pop("labels", None)
        if "use_cache" in inspect.signature(base.forward).parameters:
            arguments["use_cache"] = False
        catch = _Catch(batch, observer)
        with explicit_attention(model):
            with ExitStack() as stack:
                stack.enter_context(ScaledDotProducts(catch.hidden))
                for name, module in attention_modules(base):
                    stack.enter_context(catch.watching(module, name))
                output = run(**arguments)
            if not catch.layers:
                _show_returned(base(**arguments, output_attentions=True), batch, observer)
        if run is model:
            observer.output(output)

    def advice(self, model: Any) -> str:
        names = [name for name, _ in attention_modules(model.base_model)]
        looked = f"its {len(names)} attention modules return no weights" if names else "it has no attention modules"
        return (
            f"{type(model).__name__}: {looked}, even with the eager implementation; "
            "pass a function from tokens to attention"
        )


def has_logits(model: object, batch: Batch) -> bool:
    """Whether this is a language model whose output can be compared with the batch: a masked one needs labels."""
    names = [kind.__name__ for kind in type(model).__mro__]
    return any(name.endswith(CAUSAL) for name in names) or (
        "labels" in batch.others and any(name.endswith(MASKED) for name in names)
    )


def attention_modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """The outermost attention modules: `BertAttention` counts, the `BertSelfAttention` inside it does not again."""
    found: list[tuple[str, nn.Module]] = []
    for name, module in model.named_modules():
        kind = type(module).__name__
        inside = any(name.startswith(f"{outer}.") for outer, _ in found)
        if "Attention" in kind and "CrossAttention" not in kind and not inside:
            found.append((name, module))
    return found


@contextmanager
def explicit_attention(model: nn.Module) -> Iterator[None]:
    """The eager implementation in every config that a part of the model reads, for this pass only."""
    configs = {
        id(config): config for module in model.modules() if (config := getattr(module, "config", None)) is not None
    }
    key = "_attn_implementation_internal"
    before = [(config, getattr(config, key)) for config in configs.values() if hasattr(config, key)]
    try:
        for config, _ in before:
            setattr(config, key, "eager")
        yield
    finally:
        for config, implementation in before:
            setattr(config, key, implementation)


class _Catch:
    """Hands over the weights each module returns, or the last ones that torch's own function hid inside it."""

    def __init__(self, batch: Batch, observer: Observer) -> None:
        self._batch, self._observer = batch, observer
        self._rewrite = rewrite_of(observer)
        self._hidden: Tensor | None = None
        self._written: tuple[Tensor, nn.Module] | None = None
        self._elsewhere = False
        self.layers = 0

    def hidden(self, weights: Tensor) -> None:
        self._hidden = weights

    def _asked_for(self, module: nn.Module, args: tuple[Any, ...], given: dict[str, Any]) -> Tensor | None:
        """Weights that a module gives only when asked, from a call that nothing else sees."""
        before = self._written, self._rewrite
        self._rewrite = None
        try:
            return _weights(module.forward(*args, **{**given, "output_attentions": True}))
        finally:
            self._written, self._rewrite = before

    @contextmanager
    def watching(self, module: nn.Module, name: str) -> Iterator[None]:
        """Hooks on one attention module and on the matrices after its heads, for one pass."""

        def before(module: nn.Module, args: tuple[Any, ...], given: dict[str, Any]) -> None:
            self._elsewhere = _attends_elsewhere(module, args, given)

        def before_output(output: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
            self._written = (args[0], output)
            if self._rewrite is None or args[0].ndim != 3 or self._elsewhere:
                return None
            return (self._rewrite(args[0]), *args[1:])

        def after(module: nn.Module, args: tuple[Any, ...], given: dict[str, Any], output: Any) -> None:
            weights = _weights(output)
            if not self._elsewhere and _gives_biases_alone(module, args, output):
                weights = self._asked_for(module, args, given)
            weights = self._hidden if weights is None else weights
            if self._elsewhere:
                self._observer.note(f"{name} attends to another sequence and is left out")
            elif weights is not None:
                writes = None if self._written is None else _writes(*self._written, heads=weights.shape[1])
                self._observer.layer(Layer(name, weights, self._batch.valid_BS, writes))
                self.layers += 1
            self._hidden = self._written = None

        handles = [
            module.register_forward_pre_hook(before, with_kwargs=True),
            module.register_forward_hook(after, with_kwargs=True),
        ]
        handles += [
            part.register_forward_pre_hook(before_output)
            for path, part in module.named_modules()
            if path.rsplit(".", 1)[-1] in OUTPUT_NAMES and _matrix(part) is not None
        ]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _attends_elsewhere(module: nn.Module, args: tuple[Any, ...], given: dict[str, Any]) -> bool:
    """Whether this call has another sequence to attend to, as in a decoder that is given what an encoder made."""
    by_place = dict(zip(inspect.signature(module.forward).parameters, args, strict=False))
    return any((by_place | given).get(name) is not None for name in OTHER_SEQUENCE)


def _show_returned(result: Any, batch: Batch, observer: Observer) -> None:
    """For models whose layers give weights only when the whole model is asked for all of them at once."""
    for index, weights in enumerate(getattr(result, "attentions", None) or ()):
        if isinstance(weights, Tensor):
            observer.layer(Layer(f"attentions.{index}", weights, batch.valid_BS))


def _weights(output: Any) -> Tensor | None:
    """The weights among what a module returns; T5's returns its position biases too, which have the same shape."""
    maps = _maps(output)
    return min(maps, key=_distance_from_weights) if len(maps) > 1 else next(iter(maps), None)


def _maps(output: Any) -> list[Tensor]:
    parts = output[1:] if isinstance(output, tuple) else ()
    return [part for part in parts if isinstance(part, Tensor) and part.ndim == 4]


def _gives_biases_alone(module: nn.Module, args: tuple[Any, ...], output: Any) -> bool:
    """Whether the one map that a module returned holds position biases: T5's does in older releases if not asked."""
    by_name = [*inspect.signature(module.forward).parameters][len(args) :]
    return len(_maps(output)) == 1 and {"position_bias", "output_attentions"} <= set(by_name)


def _distance_from_weights(map_BHQK: Tensor) -> float:
    """How far rows are from adding up to one with no entry below zero."""
    off = (map_BHQK.float().sum(-1) - 1).abs().mean() + map_BHQK.float().clamp(max=0).abs().max()
    return float(off.nan_to_num(torch.inf))


def _matrix(module: nn.Module) -> Tensor | None:
    """Weights of a linear map as (out, in); GPT-2's Conv1D keeps them the other way round."""
    if isinstance(module, nn.Linear):
        return module.weight
    weight = getattr(module, "weight", None)
    return weight.T if type(module).__name__ == "Conv1D" and isinstance(weight, Tensor) else None


def _writes(z: Tensor, output: nn.Module, *, heads: int) -> HeadWrites | None:
    matrix = _matrix(output)
    if matrix is None or z.ndim != 3 or z.shape[-1] % heads or matrix.is_meta or not matrix.is_floating_point():
        return None
    return HeadWrites(z.reshape(*z.shape[:2], heads, -1), matrix.reshape(matrix.shape[0], heads, -1))


def _has_two_halves(model: Any) -> bool:
    """Whether the model is more than its encoder or its decoder; each of them often shares the config of the whole."""
    halves = [getattr(model, name, None) for name in ("get_encoder", "get_decoder")]
    return all(half is not None and half() is not model for half in halves)


def _require_decodable(model: Any, batch: Batch) -> None:
    config = model.config
    if getattr(config, "is_encoder_decoder", False) and _has_two_halves(model):
        raise ConfigError(
            f"{type(model).__name__} has an encoder, a decoder and attention between them; "
            "watch one of them: model.get_encoder() or model.get_decoder()"
        )
    tokens = batch.tokens
    if tokens.ndim != 2 or tokens.is_floating_point() or tokens.dtype == torch.bool:
        return
    size = getattr(config, "vocab_size", None)
    if size is not None and (int(tokens.max()) >= size or int(tokens.min()) < 0):
        raise ConfigError(f"tokens range over {int(tokens.min())}..{int(tokens.max())}, the model has 0..{size - 1}")
    longest = getattr(config, "max_position_embeddings", None)
    if longest is not None and tokens.shape[1] > longest:
        raise ConfigError(f"sequences of {tokens.shape[1]} tokens, but the model has {longest} positions; cut them")
    pad = getattr(config, "pad_token_id", None)
    if pad is not None and batch.valid_BS is None and bool(((tokens[:, 0] == pad) | (tokens[:, -1] == pad)).any()):
        raise ConfigError(
            f"a sequence begins or ends with the padding token {pad}; pass tokens as "
            "{'input_ids': ..., 'attention_mask': ...} so that padding is left out"
        )


ADAPTER = HuggingFace()
