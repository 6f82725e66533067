"""The weights of a foreign checkpoint: tensors and nothing else, and the digest by which they are known.

Which files are read is decided here, from their names and their content, and not by the library that fills the model:
safetensors files in the checkpoint's own folder. A pickle can run code; one is read only on request, by torch's reader
that makes tensors and nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from torch import Tensor

from headwise.core.errors import ConfigError, CorruptData
from headwise.probe.foreign_config import first_line
from headwise.probe.foreign_json import printable, read_foreign_json, require_file

Pickle = Literal["refuse", "weights-only"]

SAFE = ("model.safetensors", "model.safetensors.index.json")
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json")
SHARED_OVER = 16
"""How many times the bytes of a pickle its tensors may come to, by sharing memory."""


def read_weights(folder: Path, *, pickle: Pickle) -> dict[str, Tensor]:
    """All tensors of the checkpoint by name; `CorruptData` when they are damaged, `ConfigError` when pickled."""
    safe = next((folder / name for name in SAFE if (folder / name).exists()), None)
    if safe is None:
        _require_allowed_pickle(folder, pickle)
    found = safe or next(folder / name for name in PICKLED if (folder / name).exists())
    suffix = ".safetensors" if safe else ".bin"
    index = _read_index(found, suffix=suffix) if found.name.endswith(".json") else {}
    tensors: dict[str, Tensor] = {}
    for path in sorted({folder / name for name in index.values()}) or [found]:
        require_file(path)
        with _damage_named(path):
            part = _read_safetensors(path) if safe else _read_pickle(path)
        if twice := tensors.keys() & part.keys():
            raise CorruptData(f"{path} holds {printable(min(twice))}, which another file of {folder} holds too")
        tensors |= part
    absent = next((name for name in index if name not in tensors), None)
    if absent is not None:
        raise CorruptData(f"{found} lists {printable(absent)}, which {folder / index[absent]} does not hold")
    if not tensors:
        raise CorruptData(f"{found} holds no weights")
    return tensors


def weights_digest(tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 over names, types, shapes and numbers in order of name, however they are spread over files."""
    import torch

    digest = hashlib.sha256()
    for name in sorted(tensors):
        tensor = tensors[name].detach().cpu().contiguous()
        digest.update(f"{name}\0{tensor.dtype}\0{tuple(tensor.shape)}\0".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _read_index(path: Path, *, suffix: str) -> dict[str, str]:
    """Which file holds each weight. Names are files of this very folder, of the kind that was agreed to."""
    index = read_foreign_json(path).get("weight_map")
    if not isinstance(index, dict) or not index or not all(isinstance(name, str) for name in index.values()):
        raise CorruptData(f"{path} has no weight_map from weights to files")
    for name in sorted(set(index.values())):
        if name != Path(name).name or "\\" in name or "\0" in name or name in ("", ".", ".."):
            raise ConfigError(f"{path} names {printable(name)!r}, which is no file of its folder; it is not read")
        if not name.endswith(suffix):
            raise ConfigError(
                f"{path} names {printable(name)!r}, which is no {suffix} file; a pickle can run code and is not read"
            )
    return index


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors.torch import load_file

    return dict(load_file(path))


def _read_pickle(path: Path) -> dict[str, Tensor]:
    import torch

    content: Any = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(content, dict):
        raise CorruptData(f"{path} is damaged: it holds {type(content).__name__} in place of named tensors")
    tensors = {str(name): value for name, value in content.items() if isinstance(value, Tensor)}
    dense = all(value.layout is torch.strided and not value.is_quantized for value in tensors.values())
    if not dense or sum(value.nbytes for value in tensors.values()) > SHARED_OVER * path.stat().st_size:
        raise CorruptData(f"{path} is damaged: its tensors are not all there")
    return tensors


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (CorruptData, OSError, MemoryError):
        raise
    except Exception as error:  # what a damaged file makes a library raise is open-ended
        raise CorruptData(f"{path} is damaged: {first_line(error)}") from error


def _require_allowed_pickle(folder: Path, pickle: Pickle) -> None:
    pickled = next((name for name in PICKLED if (folder / name).exists()), None)
    if pickled is None:
        raise CorruptData(f"{folder} has no weights: none of {', '.join(SAFE)}")
    if pickle == "refuse":
        raise ConfigError(
            f"{folder} has its weights in {pickled} only, a pickle, which can run code; save it as safetensors, "
            "or pass --pickle weights-only to read nothing but its tensors"
        )
