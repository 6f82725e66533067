"""A folder of Hugging Face checkpoints: which steps it has, and each one's model, never by way of pickle.

Weights come from safetensors. A checkpoint that has only a pickle is refused unless `weights_only` loading is allowed,
which unpickles tensors and nothing else. Code that comes with a checkpoint is never run, and nothing is downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from headwise.core.errors import ConfigError, CorruptData
from headwise.probe.optional import require

Pickle = Literal["refuse", "weights-only"]

STEP = re.compile(r"(?:checkpoint|global_step|step|iter)[-_]?(\d+)")
SAFE = ("model.safetensors", "model.safetensors.index.json")
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")


@dataclass(frozen=True)
class StoredModel:
    """One checkpoint on disk."""

    step: int
    path: Path


def find_checkpoints(folder: Path) -> list[StoredModel]:
    """The checkpoints of a folder in order of step; a folder that is itself a model is its own only checkpoint."""
    if not folder.is_dir():
        raise ConfigError(f"{folder} is not a directory; give a folder of checkpoints")
    found = sorted(
        (
            StoredModel(int(match[1]), path)
            for path in folder.iterdir()
            if (match := STEP.fullmatch(path.name)) and path.is_dir()
        ),
        key=lambda stored: (stored.step, stored.path.name),
    )
    twice = next((a for a, b in pairwise(found) if a.step == b.step), None)
    if twice is not None:
        raise ConfigError(f"{folder} has two checkpoints of step {twice.step}; keep one")
    if found:
        return found
    if any((folder / name).exists() for name in (*SAFE, *PICKLED)):
        own = STEP.fullmatch(folder.resolve().name)
        return [StoredModel(int(own[1]) if own else 0, folder)]
    raise ConfigError(
        f"{folder} has no checkpoints: no folders like checkpoint-100, and no model.safetensors of its own"
    )


def load_config(stored: StoredModel) -> Any:
    """The model's config, from the checkpoint or, failing that, from the folder it lies in."""
    transformers = require("transformers", extra="probe")
    place = next((p for p in (stored.path, stored.path.parent) if (p / "config.json").exists()), None)
    if place is None:
        raise CorruptData(f"{stored.path}: config.json is missing, here and in the folder above")
    try:
        return transformers.AutoConfig.from_pretrained(place, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # what a damaged file makes a library raise is open-ended
        raise CorruptData(f"{place / 'config.json'} cannot be used: {_first_line(error)}") from error


def load_model(stored: StoredModel, *, pickle: Pickle, device: str) -> Any:
    """The checkpoint's model; `CorruptData` names it when its weights are damaged or incomplete."""
    transformers = require("transformers", extra="probe")
    safe = any((stored.path / name).exists() for name in SAFE)
    if not safe:
        _require_allowed_pickle(stored, pickle)
    config = load_config(stored)
    chosen = next((kind for name in config.architectures or () if (kind := getattr(transformers, name, None))), None)
    try:
        with _no_progress_bar(transformers):
            model, about = (chosen or transformers.AutoModel).from_pretrained(
                stored.path,
                config=config,
                local_files_only=True,
                use_safetensors=safe,
                weights_only=True,
                output_loading_info=True,
            )
    except ImportError as error:
        raise ConfigError(f"{stored.path} needs a library that is missing: {_first_line(error)}") from error
    except Exception as error:
        raise CorruptData(f"{stored.path} cannot be loaded: {_first_line(error)}") from error
    # The library fills in what is missing with random numbers; a probe of those would report on nothing.
    wrong = sorted(about["missing_keys"]) or sorted(str(key) for key in about["mismatched_keys"])
    if wrong:
        raise CorruptData(f"{stored.path} lacks {len(wrong)} of the model's weights, such as {wrong[0]}")
    return model.to(device).eval()


def vocabulary_size(config: Any) -> int:
    """How many token ids the model has."""
    size = getattr(config.get_text_config(), "vocab_size", None)
    if not isinstance(size, int):
        raise ConfigError(f"{type(config).__name__} does not give the size of its vocabulary; give them with --tokens")
    return size


def _require_allowed_pickle(stored: StoredModel, pickle: Pickle) -> None:
    pickled = next((name for name in PICKLED if (stored.path / name).exists()), None)
    if pickled is None:
        raise CorruptData(f"{stored.path} has no weights: none of {', '.join(SAFE)}")
    if pickle == "refuse":
        raise ConfigError(
            f"{stored.path} has its weights in {pickled} only, a pickle, which can run code; save it as safetensors, "
            "or pass --pickle weights-only to read nothing but its tensors"
        )


@contextmanager
def _no_progress_bar(transformers: Any) -> Iterator[None]:
    """The library's bars for each checkpoint would drown the probe's own lines."""
    logging = transformers.utils.logging
    enabled = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if enabled:
            logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]
