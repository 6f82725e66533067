"""A stored run of the zoo: weights at every look, losses, the tokens that are shown, and what it was made from.

Two files: `NAME.safetensors` (arrays) and, written last, `NAME.json` (kind, setting, seed). A run without its JSON is
trained again.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from headwise.core.atomic import replace_file
from headwise.core.errors import ConfigError
from headwise.zoo.training import Setting

WEIGHT = "weight."


@dataclass(frozen=True)
class Stored:
    """One run; `weights[name]` has the looks as its first dimension."""

    kind: str
    setting: Setting
    seed: int
    looks: np.ndarray
    weights: dict[str, np.ndarray]
    train_loss: np.ndarray
    """loss of each step's batch, before the step"""
    validation_loss: np.ndarray
    """at every look, on the same sequences"""
    tokens: np.ndarray
    """the batch that is shown at every look"""

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.seed:04d}"


def write_run(folder: Path, stored: Stored) -> Path:
    """Store a run; returns the file that marks it as complete."""
    arrays = {WEIGHT + name: value for name, value in stored.weights.items()}
    arrays |= {name: getattr(stored, name) for name in ("looks", "train_loss", "validation_loss", "tokens")}
    replace_file(folder / f"{stored.name}.safetensors", save({k: np.ascontiguousarray(v) for k, v in arrays.items()}))
    about: dict[str, Any] = {"kind": stored.kind, "setting": dict(stored.setting), "seed": stored.seed}
    mark = folder / f"{stored.name}.json"
    replace_file(mark, json.dumps(about, indent=1) + "\n")
    return mark


def read_run(mark: Path) -> Stored:
    """A stored run, by its JSON file."""
    try:
        about = json.loads(mark.read_text(encoding="utf-8"))
        arrays = load_file(mark.with_suffix(".safetensors"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{mark} is not a run of the zoo ({error}); train it again") from None
    weights = {name.removeprefix(WEIGHT): value for name, value in arrays.items() if name.startswith(WEIGHT)}
    return Stored(
        kind=about["kind"],
        setting=about["setting"],
        seed=about["seed"],
        weights=weights,
        looks=arrays["looks"],
        train_loss=arrays["train_loss"],
        validation_loss=arrays["validation_loss"],
        tokens=arrays["tokens"],
    )


def complete_runs(folder: Path) -> list[Path]:
    """Marks of all complete runs in a folder, in order of their names."""
    return sorted(folder.glob("*-[0-9][0-9][0-9][0-9].json"))
