"""The adapters, in the order in which they are tried; the first that claims a model is used for it.

A new adapter is one file here that defines `ADAPTER`, and its name in `MODULES`.
"""

from __future__ import annotations

import importlib

from headwise.core.errors import ConfigError
from headwise.probe.adapter import Adapter

MODULES = (
    "own_decoder",
    "transformer_lens",
    "hugging_face",
    "torch_modules",
    "plain_function",
)


def find_adapter(model: object) -> Adapter:
    """The first adapter that claims this model."""
    if isinstance(model, type):
        raise ConfigError(f"cannot watch the class {model.__name__}; make a model of it first and give that")
    for name in MODULES:
        adapter: Adapter = importlib.import_module(f"{__name__}.{name}").ADAPTER
        if adapter.claims(model):
            return adapter
    raise ConfigError(
        f"cannot watch a {type(model).__name__}; give a torch module, a Hugging Face or TransformerLens model, "
        "or a function from tokens to attention"
    )
