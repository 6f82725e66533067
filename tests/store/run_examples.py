"""Small runs to be copied, damaged and exchanged: real files, without any training."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from headwise.store import RunDirectory, RunIdentity, run_path
from headwise.store.files import sidecar

CONTENT: dict[str, Any] = {"model": {"heads": 3}, "train": {"lr": 0.1}}


def identity_of(seed: int = 0, *, lr: float = 0.1) -> RunIdentity:
    return RunIdentity({**CONTENT, "train": {"lr": lr}}, seed)


def store_run(
    root: Path, seed: int = 0, *, lr: float = 0.1, until: int = 40, over: bool = True, keep_every: int | None = None
) -> RunDirectory:
    """A run whose every number depends on seed and rate: four intervals of ten steps, the last two checkpoints."""
    identity = identity_of(seed, lr=lr)
    run = RunDirectory(run_path(root, experiment="small", config_hash=identity.config_hash, seed=seed))
    with run.writing():
        run.start(
            {"seed": seed, **identity.content},
            identity=identity,
            coordinates={"predictor": ["prefix_1"], "query": [0], "key": [0, 1]},
            attributes={"seed": seed},
        )
        for step in range(10, until + 1, 10):
            write_interval(run, step, scale=seed + lr, keep_every=keep_every)
        if over:
            run.finish({"status": "finished", "steps": until})
    return run


def write_interval(run: RunDirectory, step: int, *, scale: float, keep_every: int | None = None) -> None:
    steps = np.array([step - 5, step])
    run.write_metrics(step, steps=steps, variables={"excess_loss": scale * steps})
    run.write_snapshots(step, steps=[step], variables={"attention_map": np.full((1, 1, 1, 1, 2), scale * step)})
    run.write_checkpoint(step, arrays={"weights": np.full(4, scale * step)}, state={"step": step})
    run.prune_checkpoints(keep_every=keep_every)


def with_new_digest(path: Path) -> None:
    """Make the sidecar say what is in the file now."""
    sidecar(path).write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")


def put_in_place(source: Path, target: Path) -> None:
    """Another file under this name, with a sidecar that fits."""
    shutil.copyfile(source, target)
    with_new_digest(target)


def exchange(one: Path, other: Path) -> None:
    """Two files, each under the other's name, with sidecars that fit."""
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    with_new_digest(one)
    with_new_digest(other)


def content_of(directory: Path) -> dict[str, bytes]:
    """Every file of a directory."""
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir()) if path.is_file()}
