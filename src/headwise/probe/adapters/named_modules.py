"""Attention written by hand: the modules whose output is the weights, by name, such as `layers.*.attn_dropout`.

A look runs without dropout, so what goes through such a dropout is the softmax itself. Not in the list of adapters that
are tried: nothing but the user knows these names.
"""

from __future__ import annotations

import fnmatch
from typing import Any

from torch import Tensor, nn

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Batch, Layer, Observer

MOST_SHOWN = 5


class NamedModules:
    """Weights, (B, H, Q, K), from the output of every module whose name fits the pattern."""

    name = "named modules"

    def __init__(self, pattern: str) -> None:
        if not isinstance(pattern, str) or not pattern:
            raise ConfigError(f"attention = {pattern!r} must be the name of modules, such as 'layers.*.attn_dropout'")
        self.pattern = pattern

    def claims(self, model: object) -> bool:
        return isinstance(model, nn.Module)

    def show(self, model: nn.Module, batch: Batch, observer: Observer) -> None:
        if not isinstance(model, nn.Module):
            raise ConfigError(f"attention = {self.pattern!r} names modules, and a {type(model).__name__} has none")
        fitting = {name: module for name, module in model.named_modules() if fnmatch.fnmatchcase(name, self.pattern)}
        if not fitting:
            raise ConfigError(f"attention = {self.pattern!r} fits no module of {type(model).__name__}; {_some(model)}")

        def hook(name: str) -> Any:
            def seen(module: nn.Module, inputs: Any, output: Any) -> None:
                weights = output[0] if isinstance(output, tuple) else output
                if not isinstance(weights, Tensor) or weights.ndim != 4 or not weights.is_floating_point():
                    got = tuple(weights.shape) if isinstance(weights, Tensor) else type(weights).__name__
                    raise ConfigError(
                        f"{name} returns {got}; the module behind attention = {self.pattern!r} returns the weights, "
                        "(sequences, heads, queries, keys)"
                    )
                observer.layer(Layer(name, weights.detach(), batch.valid_BS))

            return seen

        handles = [module.register_forward_hook(hook(name)) for name, module in fitting.items()]
        try:
            given = batch.keywords(batch.keyword) if batch.keyword else dict(batch.others)
            output = model(**given) if batch.keyword else model(batch.tokens, **given)
        finally:
            for handle in handles:
                handle.remove()
        if observer.wants_output:
            observer.output(output)

    def advice(self, model: Any) -> str:
        return f"the modules {self.pattern!r} of {type(model).__name__} were not called"


def _some(model: nn.Module) -> str:
    names = [name for name, module in model.named_modules() if name and not list(module.children())]
    near = [name for name in names if "attn" in name.lower() or "attention" in name.lower() or "drop" in name.lower()]
    shown = (near or names)[:MOST_SHOWN]
    return f"it has {', '.join(shown)}" if shown else "it has none"
