"""Where a run is kept, found or not, and what makes it the run that was asked for; needs no torch."""

from __future__ import annotations

from pathlib import Path

from headwise.store import RunIdentity, find_run
from headwise.study.config import RunConfig, scientific_content


def run_identity(config: RunConfig) -> RunIdentity:
    """What every file of a run carries: what its results depend on, and its seed."""
    return RunIdentity(scientific_content(config), config.seed)


def run_location(config: RunConfig, out: Path | str) -> Path:
    """The directory of a run: its experiment, the hash of its settings and its seed name it."""
    return find_run(out, experiment=config.experiment, identity=run_identity(config))
