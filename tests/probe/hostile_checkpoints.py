"""Checkpoints that try to run code, to fetch something or to use up the machine, and a watch for what they reach."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

transformers = pytest.importorskip("transformers")

DANGEROUS = frozenset(
    (
        "socket.connect",
        "socket.getaddrinfo",
        "socket.bind",
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "pickle.find_class",
    )
)
"""Events of Python's own audit: what neither a config nor weights may ever lead to."""

_watches: list[list[str]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    ours = event == "subprocess.Popen" and arguments[0] == "git"  # the manifest names the commit of the source
    if _watches and event in DANGEROUS and not ours:
        _watches[-1].append(f"{event} {str(arguments)[:120]}")


sys.addaudithook(_note)


@contextmanager
def watched() -> Iterator[list[str]]:
    """The dangerous events of this block; a hook cannot be taken away again, only left without anything to note in."""
    _watches.append([])
    try:
        yield _watches[-1]
    finally:
        _watches.pop()


class Trap:
    """Unpickling this writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (self.path,))


def save_gpt2(folder: Path, *, seed: int = 0, heads: int = 2) -> Path:
    """A small honest checkpoint."""
    torch.manual_seed(seed)
    transformers.utils.logging.disable_progress_bar()
    config = transformers.GPT2Config(
        n_embd=8, n_layer=1, n_head=heads, vocab_size=20, n_positions=16, bos_token_id=0, eos_token_id=0
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def lay_trap(folder: Path, *names: str) -> Path:
    """Python files beside the checkpoint that leave a mark when they are imported."""
    mark = folder.parent / "sprung"
    code = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\nimport transformers\n"
    code += "class X(transformers.GPT2LMHeadModel):\n    pass\n"
    for name in names or ("evil.py",):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(code)
    return mark


def pickled(folder: Path, name: str) -> Path:
    """The checkpoint's weights as a pickle that leaves a mark when it is read."""
    from safetensors.torch import load_file

    mark = folder.parent / "sprung"
    weights = load_file(folder / "model.safetensors")
    os.remove(folder / "model.safetensors")
    torch.save({**weights, "trap": Trap(mark)}, folder / name)
    return mark


def write_index(folder: Path, name: str, *, index: str = "model.safetensors.index.json") -> None:
    weights = list(transformers.GPT2LMHeadModel(transformers.GPT2Config.from_pretrained(folder)).state_dict())
    (folder / index).write_text(json.dumps({"metadata": {}, "weight_map": dict.fromkeys(weights, name)}))
