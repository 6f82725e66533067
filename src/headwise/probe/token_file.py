"""Tokens from a file: ids as `.npy` or `.json`, or text for a checkpoint's own tokenizer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.probe.optional import require

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")


def read_tokens(path: Path, *, sequences: int, length: int, tokenizer: Path) -> np.ndarray:
    """Token ids, (sequences, positions). A single row of ids, and text, is cut into sequences of `length`."""
    readers: dict[str, Callable[[Path], Any]] = {
        ".npy": _from_npy,
        ".json": _from_json,
        ".txt": lambda file: _from_text(file, tokenizer),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ConfigError(f"--tokens {path}: give ids as .npy or .json, or text as .txt")
    try:
        ids = np.asarray(reader(path))
    except (OSError, ValueError) as error:
        raise ConfigError(f"--tokens {path} cannot be read: {str(error).splitlines()[0]}") from None
    if ids.dtype.kind not in "iu" or ids.ndim not in (1, 2) or not ids.size:
        raise ConfigError(f"--tokens {path} holds {ids.dtype} of shape {ids.shape}; give rows of whole numbers")
    if ids.ndim == 1:
        count = len(ids) // length
        if not count:
            raise ConfigError(f"--tokens {path} holds {len(ids)} tokens, fewer than --length {length}; lower it")
        ids = ids[: count * length].reshape(count, length)
    return ids[:sequences].astype(np.int64)


def _from_npy(path: Path) -> Any:
    return np.load(path, allow_pickle=False)


def _from_json(path: Path) -> Any:
    return json.loads(path.read_text())


def _from_text(path: Path, tokenizer: Path) -> Any:
    transformers = require("transformers", extra="probe")
    # Without these the library makes up an empty tokenizer for some families.
    if not any((tokenizer / name).exists() for name in TOKENIZERS):
        raise ConfigError(f"{tokenizer} has no tokenizer for {path}; give ids as .npy or .json")
    try:
        words = transformers.AutoTokenizer.from_pretrained(tokenizer, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises many kinds for a missing or damaged tokenizer
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"{tokenizer} has no usable tokenizer for {path}; give ids as .npy or .json ({reason})"
        ) from None
    return words(path.read_text(), add_special_tokens=False)["input_ids"]
