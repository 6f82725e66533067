"""Tokens from a file: ids as `.npy` or `.json`, or text for a checkpoint's own tokenizer.

A tokenizer is read from `tokenizer.json` by the tokenizers library, as data: of the other forms some are Python classes
that a checkpoint can choose, or bring along.
"""

from __future__ import annotations

import json
import tokenize
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.extras import require_library
from headwise.probe.foreign_json import printable

TOKENIZER = "tokenizer.json"


def read_tokens(path: Path, *, sequences: int, length: int, tokenizer: Path) -> np.ndarray:
    """Token ids, (sequences, positions). A single row of ids, and text, is cut into sequences of `length`."""
    ids = _read_ids(path, option="--tokens", tokenizer=tokenizer)
    if ids.ndim == 1:
        count = len(ids) // length
        if not count:
            raise ConfigError(f"--tokens {path} holds {len(ids)} tokens, fewer than --length {length}; lower it")
        ids = ids[: count * length].reshape(count, length)
    return ids[:sequences].astype(np.int64)


def read_corpus(path: Path, *, tokenizer: Path) -> np.ndarray:
    """Token ids to count n-grams on, one row or (sequences, positions); a `.npy` file is mapped, not read."""
    return _read_ids(path, option="--corpus", tokenizer=tokenizer)


def _read_ids(path: Path, *, option: str, tokenizer: Path) -> np.ndarray:
    readers: dict[str, Callable[[Path], Any]] = {
        ".npy": _from_npy,
        ".json": _from_json,
        ".txt": lambda file: _from_text(file, tokenizer),
    }
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise ConfigError(f"{option} {path}: give ids as .npy or .json, or text as .txt")
    try:
        ids = np.asarray(reader(path))
    except RecursionError:
        raise ConfigError(f"{option} {path} cannot be read: nested too deeply") from None
    # numpy takes a header it does not understand for one of Python 2 and gives it to Python's own tokenizer.
    except (OSError, ValueError, SyntaxError, TypeError, OverflowError, MemoryError, tokenize.TokenError) as error:
        reason = printable(error, most=300) or type(error).__name__
        raise ConfigError(f"{option} {path} cannot be read: {reason}") from None
    if ids.dtype.kind not in "iu" or ids.ndim not in (1, 2) or not ids.size:
        raise ConfigError(f"{option} {path} holds {ids.dtype} of shape {ids.shape}; give rows of whole numbers")
    return ids


def _from_npy(path: Path) -> Any:
    # Mapped, so that a header which promises more than the file holds is refused before memory is asked for.
    return np.lib.format.open_memmap(path, mode="r")


def _from_json(path: Path) -> Any:
    return json.loads(path.read_bytes())


def read_tokenizer(folder: Path) -> Any:
    """The tokenizer of a checkpoint, to show what its tokens say; None where it has none that can be read."""
    if not (folder / TOKENIZER).is_file():
        return None
    try:
        words = require_library("tokenizers").Tokenizer.from_file(str(folder / TOKENIZER))
        words.decode([0])
    except BaseException as error:  # the library's own panics are no ordinary exceptions
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        return None
    return words


def _from_text(path: Path, folder: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    tokenizers = require_library("tokenizers")
    if not (folder / TOKENIZER).is_file():
        raise ConfigError(
            f"{folder} has no {TOKENIZER} for {path}; save its tokenizer as one, or give ids as .npy or .json"
        )
    try:
        words = tokenizers.Tokenizer.from_file(str(folder / TOKENIZER))
        words.no_truncation()
        words.no_padding()
        return words.encode(text, add_special_tokens=False).ids
    except BaseException as error:  # the library's own panics are no ordinary exceptions
        if isinstance(error, KeyboardInterrupt | SystemExit | MemoryError):
            raise
        reason = printable(error, most=300) or type(error).__name__
        raise ConfigError(
            f"{folder} has no usable {TOKENIZER} for {path}; give ids as .npy or .json ({reason})"
        ) from None
