"""What a model is shown: a user's batch, made safe to keep, or sequences drawn for the purpose."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from headwise.core.errors import ConfigError
from headwise.core.seeds import Stream, generator
from headwise.probe.adapter import Batch

Kind = Literal["repeated", "markov", "random"]
"""`repeated`: a random half, twice; `markov`: each token has few successors; `random`: independent tokens."""

SUCCESSORS = 4
"""Tokens that may follow each token of a `markov` sequence."""
INPUT_NAMES = ("input_ids", "tokens", "inputs_embeds", "src", "x", "query")
"""Arguments that models call their input; among several the first of these."""
LARGEST_MAPS = 2**22
"""Entries of the attention maps of one head that a pass may produce; a larger batch goes in several passes, of two
sequences or more.
"""


def as_batch(given: Any, *, name: str = "tokens") -> Batch:
    """A private copy of what the user gave: a tensor or array, or a mapping of a model's keyword arguments.

    `name` is what its user calls it.
    """
    if not isinstance(given, Mapping):
        return Batch(_tokens(given, name))
    keyword = next((key for key in INPUT_NAMES if key in given), None)
    if keyword is None:
        raise ConfigError(f"{name}: none of {', '.join(INPUT_NAMES)} is among the keys {', '.join(map(str, given))}")
    tokens = _tokens(given[keyword], name)
    others = {key: _copied(key, value) for key, value in given.items() if key != keyword}
    if np.ndim(given[keyword]) == 1:  # one sequence, as a tokenizer makes of one text: so is all that belongs to it
        others = {key: _one_sequence(value, tokens) for key, value in others.items()}
    mask = others.get("attention_mask")
    if isinstance(mask, Tensor) and mask.ndim <= 2 and mask.shape != tokens.shape[:2]:
        raise ConfigError(
            f"{name}: attention_mask has shape {tuple(mask.shape)} and {keyword} {tuple(tokens.shape)}; "
            "give one number for each token"
        )
    return Batch(tokens, keyword, others)


def _copied(key: str, value: Any) -> Any:
    """An argument of its own; lists of numbers, as tokenizers make them, where the library's models take tensors."""
    if isinstance(value, Tensor):
        return value.detach().clone()
    takes_tensor = key == "labels" or key.endswith(("_mask", "_ids"))
    if not takes_tensor or not isinstance(value, list | np.ndarray):
        return value
    return _from_numbers(value, key)


def _one_sequence(value: Any, tokens_BS: Tensor) -> Any:
    """A number for each token of one sequence as a batch of one."""
    return value[None] if isinstance(value, Tensor) and value.shape == tokens_BS.shape[1:2] else value


def _tokens(given: Any, name: str) -> Tensor:
    tokens = given.detach().clone() if isinstance(given, Tensor) else _from_numbers(given, name)
    if tokens.ndim == 1:
        tokens = tokens[None]
    shape = tuple(tokens.shape)
    if tokens.ndim not in (2, 3):
        images = " (images are none: what is watched is attention over a sequence)" if tokens.ndim == 4 else ""
        raise ConfigError(f"{name} of shape {shape}; give (sequences, positions){images}")
    if tokens.ndim == 3 and not tokens.is_floating_point():
        raise ConfigError(
            f"{name} of shape {shape} are whole numbers; ids are (sequences, positions): join batches with torch.cat"
        )
    if 0 in shape:
        raise ConfigError(f"{name} of shape {shape} are empty; give at least one sequence of one token")
    if tokens.is_meta:
        raise ConfigError(f"{name} are on the meta device, where they have no values; give real ones")
    return tokens


def _from_numbers(given: Any, name: str) -> Tensor:
    """Nested lists or an array as a tensor; text and rows of different lengths are what a tokenizer is for."""
    try:
        array = np.array(given)
    except ValueError:
        raise ConfigError(
            f"{name} have rows of different lengths; cut or pad them to one, with an attention_mask"
        ) from None
    if array.dtype.kind not in "biuf":
        what = "text" if array.dtype.kind in "US" else f"a {type(given).__name__}"
        raise ConfigError(f"{name} are {what}; give token ids, (sequences, positions), such as a tokenizer makes")
    return torch.as_tensor(array)


def on_device(batch: Batch, device: torch.device | None) -> Batch:
    """The batch where the model is."""
    if device is None:
        return batch
    others = {k: v.to(device) if isinstance(v, Tensor) else v for k, v in batch.others.items()}
    return Batch(batch.tokens.to(device), batch.keyword, others)


def passes(batch: Batch) -> list[Batch]:
    """The batch in pieces whose attention maps fit into memory; one piece for all but large ones."""
    rows, length = batch.tokens.shape[:2]
    size = max(1, LARGEST_MAPS // length**2)
    # Chance is what the other sequences of a pass would give, so none goes alone that has others.
    count = min(math.ceil(rows / size), max(1, rows // 2))
    bounds = [rows * part // count for part in range(count + 1)]
    return [batch] if count == 1 else [rows_of(batch, slice(a, b)) for a, b in pairwise(bounds)]


def rows_of(batch: Batch, part: slice) -> Batch:
    """Some sequences of the batch, with what belongs to them."""
    rows = batch.tokens.shape[0]
    others = {
        k: v[part] if isinstance(v, Tensor) and v.ndim and v.shape[0] == rows else v for k, v in batch.others.items()
    }
    return Batch(batch.tokens[part], batch.keyword, others)


def synthetic(kind: Kind, *, vocabulary: int, sequences: int, length: int, seed: int) -> np.ndarray:
    """Token ids, (sequences, length), drawn from `seed` alone."""
    if vocabulary < 2:
        raise ConfigError(f"a vocabulary of {vocabulary} gives no sequences; it needs at least 2 tokens")
    rng = generator(seed, Stream.TEST, vocabulary, length)
    if kind == "random":
        return rng.integers(vocabulary, size=(sequences, length))
    if kind == "repeated":
        half = rng.integers(vocabulary, size=(sequences, max(1, length // 2)))
        return np.tile(half, (1, 3))[:, :length]
    follow = rng.integers(vocabulary, size=(vocabulary, SUCCESSORS))
    tokens = rng.integers(vocabulary, size=(sequences, length))
    for t in range(1, length):
        tokens[:, t] = follow[tokens[:, t - 1], rng.integers(SUCCESSORS, size=sequences)]
    return tokens
