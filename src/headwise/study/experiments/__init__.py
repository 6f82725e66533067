"""Experiments: functions that take a preset and return a complete config. A variant is a copy with an update."""

from __future__ import annotations

from collections.abc import Callable

from headwise.core.config import nearest_key
from headwise.core.errors import ConfigError
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments.full import full
from headwise.study.experiments.minimal import minimal

EXPERIMENTS: dict[str, Callable[[Preset], RunConfig]] = {
    "minimal": minimal,
    "full": full,
}
"""Every experiment by the name the command line takes."""


def experiment(name: str, preset: Preset) -> RunConfig:
    """The config of one experiment."""
    if name not in EXPERIMENTS:
        raise ConfigError(
            f"unknown experiment {name!r}{nearest_key(name, EXPERIMENTS)}; `headwise list` shows all of them"
        )
    return EXPERIMENTS[name](preset)
