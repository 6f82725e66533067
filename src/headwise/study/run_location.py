"""Where a run is kept, found or not; needs no torch."""

from __future__ import annotations

from pathlib import Path

from headwise.store import run_path
from headwise.study.config import RunConfig, config_hash


def run_location(config: RunConfig, out: Path | str) -> Path:
    """The directory of a run: its experiment, the hash of its settings and its seed name it."""
    return run_path(out, experiment=config.experiment, config_hash=config_hash(config), seed=config.seed)
