"""A folder of Hugging Face checkpoints: which steps it has, and each one's model, as data alone.

Neither code that comes with a checkpoint nor code that it names elsewhere is run, nothing is downloaded and nothing is
asked on the terminal: `foreign_config` chooses the model's class among the library's own, `weights` reads the tensors,
and the library only fills the one with the other.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from torch import Tensor

from headwise.core.errors import ConfigError, CorruptData
from headwise.probe.foreign_config import build_config, first_line, model_class, read_settings
from headwise.probe.model_size import require_reasonable_size
from headwise.probe.optional import require
from headwise.probe.weights import PICKLED, SAFE, Pickle, read_weights, weights_digest

STEP = re.compile(r"(?:checkpoint|global_step|step|iter)[-_]?(\d+)")

LAST_STEP = 10**15


@dataclass(frozen=True)
class StoredModel:
    """One checkpoint on disk."""

    step: int
    path: Path


@dataclass(frozen=True)
class OpenedModel:
    """What a checkpoint holds: its settings, without all that is not data, and its tensors."""

    path: Path
    settings: dict[str, Any]
    tensors: dict[str, Tensor]

    def identity(self) -> dict[str, str]:
        """Digests of the content: the weights, and the settings that say how they are used."""
        settings = json.dumps(self.settings, sort_keys=True).encode()
        return {"weights": weights_digest(self.tensors), "config": hashlib.sha256(settings).hexdigest()}


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
    if found and found[-1].step > LAST_STEP:
        raise ConfigError(f"{found[-1].path} is named by a step beyond {LAST_STEP}; rename or remove it")
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
    with offline(), _quiet(transformers):
        return build_config(read_settings(stored.path), path=stored.path)


def open_checkpoint(stored: StoredModel, *, pickle: Pickle) -> OpenedModel:
    """The checkpoint's content; `CorruptData` names it when it is damaged."""
    return OpenedModel(stored.path, read_settings(stored.path), read_weights(stored.path, pickle=pickle))


def load_model(opened: OpenedModel, *, device: str) -> Any:
    """The checkpoint's model; `CorruptData` names it when its weights are incomplete."""
    transformers = require("transformers", extra="probe")
    path = opened.path
    with offline(), _quiet(transformers):
        config = build_config(opened.settings, path=path)
        kind = model_class(config, path=path)
        require_reasonable_size(kind, config, opened.tensors, path=path)
        try:
            model, about = kind.from_pretrained(
                None,
                config=config,
                state_dict=opened.tensors,
                local_files_only=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
        except (OSError, MemoryError):
            raise
        except Exception as error:
            raise CorruptData(f"{path} cannot be loaded: {first_line(error)}") from error
    # The library fills in what is missing with random numbers; a probe of those would report on nothing.
    wrong = sorted(about["missing_keys"]) or sorted(str(key) for key in about["mismatched_keys"])
    if wrong:
        raise CorruptData(f"{path} lacks {len(wrong)} of the model's weights, such as {wrong[0]}")
    try:
        return model.to(device).eval()
    except Exception as error:  # torch knows many ways in which a device is missing
        raise ConfigError(f"--device {device} cannot be used: {first_line(error)}") from error


def vocabulary_size(config: Any) -> int:
    """How many token ids the model has."""
    size = getattr(config.get_text_config(), "vocab_size", None)
    if not isinstance(size, int):
        raise ConfigError(f"{type(config).__name__} does not give the size of its vocabulary; give them with --tokens")
    return size


@contextmanager
def offline() -> Iterator[None]:
    """Let the library's client of its server refuse every request, whatever a checkpoint may lead it to ask for."""
    constants: Any = importlib.import_module("huggingface_hub.constants")
    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """The library's bars and reports for each checkpoint would drown the probe's own lines, which say what matters."""
    logging = transformers.utils.logging
    bars, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
