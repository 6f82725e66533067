"""Checkpoints that are single files of torch (ckpt.pt of nanoGPT, .ckpt of Lightning), and what builds their model.

The file is read by torch's reader that makes tensors and plain values and nothing else. The function is code of the
person who names it, `module:function`: it gets the file's content and returns the model with its weights in place.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from headwise.core.errors import ConfigError, CorruptData, HeadwiseError
from headwise.probe.foreign_config import first_line
from headwise.probe.weights import weights_digest

SUFFIXES = (".pt", ".pth", ".ckpt")
STEP_KEYS = ("iter_num", "global_step", "step")
"""Where trainings write the step into the file; read where the name tells none."""
DEEPEST = 64


@dataclass(frozen=True)
class OpenedFile:
    """What such a file holds, and the model that the function makes of it."""

    path: Path
    content: Mapping[str, Any]
    build: str

    def identity(self) -> dict[str, str]:
        """Digests of the tensors, and of everything else in the file."""
        tensors = dict(_tensors(self.content))
        rest = hashlib.sha256(repr(list(_values(self.content))).encode()).hexdigest()
        return {"weights": weights_digest(tensors), "config": rest}

    def model(self, device: str) -> nn.Module:
        """The model, ready to be shown something."""
        function = build_function(self.build)
        try:
            made = function(self.content)
        except HeadwiseError:
            raise
        except Exception as error:  # the function is somebody's own code
            raise ConfigError(f"--build {self.build} failed on {self.path}: {first_line(error)}") from error
        if not isinstance(made, nn.Module):
            raise ConfigError(f"--build {self.build} returned a {type(made).__name__}; it returns a torch module")
        try:
            return made.to(device).eval()
        except Exception as error:  # torch knows many ways in which a device is missing
            raise ConfigError(f"--device {device} cannot be used: {first_line(error)}") from error


def open_file(path: Path, build: str) -> OpenedFile:
    """Read the file; `CorruptData` when it is damaged or holds more than tensors and plain values."""
    import torch

    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, MemoryError):
        raise
    except Exception as error:  # what a damaged file makes a library raise is open-ended
        raise CorruptData(f"{path} cannot be read as tensors and plain values: {first_line(error)}") from error
    if not isinstance(content, dict):
        raise CorruptData(f"{path} holds a {type(content).__name__} in place of named tensors")
    return OpenedFile(path, content, build)


def build_function(name: str) -> Callable[[Mapping[str, Any]], Any]:
    """The function behind `module:function`; modules of the present folder are found too."""
    module, colon, function = name.partition(":")
    if not colon or not module or not function:
        raise ConfigError(f"--build {name} must be module:function, such as model:from_checkpoint")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(importlib.import_module(module), function, None)
    except Exception as error:  # importing runs somebody's own code
        raise ConfigError(f"--build {name}: {module} cannot be imported: {first_line(error)}") from error
    if not callable(found):
        raise ConfigError(f"--build {name}: {module} has no function {function}")
    made: Callable[[Mapping[str, Any]], Any] = found
    return made


def step_inside(path: Path) -> int | None:
    """The step that the file itself tells."""
    content = open_file(path, "").content
    found = next((content[key] for key in STEP_KEYS if isinstance(content.get(key), int)), None)
    return found if found is not None and found >= 0 else None


def sizes_of(model: nn.Module) -> tuple[int | None, int | None]:
    """The vocabulary and the longest sequence, as far as the model's config or its embeddings tell."""
    config = getattr(model, "config", None)
    vocabulary = getattr(config, "vocab_size", None)
    if not isinstance(vocabulary, int):
        first = next((module for module in model.modules() if isinstance(module, nn.Embedding)), None)
        vocabulary = None if first is None else first.num_embeddings
    longest = next((size for name in LENGTHS if isinstance(size := getattr(config, name, None), int)), None)
    return vocabulary, longest


LENGTHS = ("max_position_embeddings", "n_positions", "block_size", "n_ctx")
"""What configs call the number of positions."""


def _tensors(content: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Tensor]]:
    if isinstance(content, Tensor):
        yield name, content
    elif depth < DEEPEST and isinstance(content, dict | list | tuple):
        for key, value in _items(content):
            yield from _tensors(value, f"{name}/{key}", depth + 1)


def _values(content: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth < DEEPEST and isinstance(content, dict | list | tuple):
        for key, value in _items(content):
            yield from _values(value, f"{name}/{key}", depth + 1)
    elif not isinstance(content, Tensor):
        yield name, repr(content)


def _items(content: Any) -> list[tuple[Any, Any]]:
    return list(content.items()) if isinstance(content, dict) else list(enumerate(content))
