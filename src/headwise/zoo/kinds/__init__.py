"""Kinds of training, one file each; a new kind is a file here that defines `KIND`, and its name in `MODULES`."""

from __future__ import annotations

import importlib

from headwise.core.errors import ConfigError
from headwise.zoo.training import Kind

MODULES = (
    "lags_competing",
    "lags_apart",
    "lag_pairs",
    "one_lag",
    "one_head",
    "paper_minimal",
    "paper_full",
    "markov_1",
    "markov_2",
    "repeats_varied",
    "repeats_fixed",
    "two_layers",
    "copying",
    "gpt2_repeats",
    "bert",
    "modular_addition",
    "characters",
    "random_labels",
    "memorised_labels",
    "drift",
    "random_walk",
)


def find_kind(name: str) -> Kind:
    """The kind of this name."""
    if name not in MODULES:
        raise ConfigError(f"kind = {name!r} is not in the zoo; it has {', '.join(MODULES)}")
    kind: Kind = importlib.import_module(f"{__name__}.{name}").KIND
    return kind
