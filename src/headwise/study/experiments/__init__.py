"""Experiments: functions that take a preset and return a complete config; a variant changes some keys of another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headwise.core.config import NO_CHANGES, validated
from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key
from headwise.core.named_options import named_options
from headwise.study.config import Preset, RunConfig
from headwise.study.experiments import data_size, full_variants, hierarchy, initialisation, ladder, minimal_variants
from headwise.study.experiments.full import full
from headwise.study.experiments.minimal import minimal

EXPERIMENTS: dict[str, Callable[[Preset], RunConfig]] = {
    "minimal": minimal,
    "full": full,
    "init-xavier": initialisation.from_xavier,
    "init-1e-3": initialisation.from_1e3,
    "init-1e-6": initialisation.from_1e6,
    "init-0": initialisation.from_0,
    "ratio-1": hierarchy.ratio_1,
    "ratio-1.3": hierarchy.ratio_13,
    "ratio-1.5": hierarchy.ratio_15,
    "small-ratio-1": hierarchy.small_ratio_1,
    "small-ratio-1.3": hierarchy.small_ratio_13,
    "small-ratio-1.5": hierarchy.small_ratio_15,
    "heads-4": minimal_variants.heads_4,
    "samples-600": data_size.samples_600,
    "samples-600-ample": data_size.samples_600_ample,
    "samples-2000": data_size.samples_2000,
    "samples-9000": data_size.samples_9000,
    "online": data_size.online,
    "no-weight-decay": minimal_variants.no_weight_decay,
    "alpha": minimal_variants.alpha,
    "overlap-3-heads": minimal_variants.overlap_3_heads,
    "overlap-4-heads": minimal_variants.overlap_4_heads,
    "head-dynamics": minimal_variants.head_dynamics,
    "depth-minimal": minimal_variants.depth_minimal,
    "windows": full_variants.windows,
    "positions-relative": full_variants.positions_relative,
    "positions-sinusoidal": full_variants.positions_sinusoidal,
    "no-norm": ladder.no_norm,
    "no-residual": ladder.no_residual,
    "no-mlp": ladder.no_mlp,
    "no-dropout": ladder.no_dropout,
    "no-key": ladder.no_key,
    "no-all": ladder.no_all,
    "reverse": full_variants.reverse,
    "depth-full": full_variants.depth_full,
    "sgd": full_variants.sgd,
}
"""Every experiment by the name the command line takes."""


@named_options
def experiment(name: str, preset: Preset = "published", *, changes: Mapping[str, Any] = NO_CHANGES) -> RunConfig:
    """The config of one experiment in one reading of the paper, with some of its keys changed.

    >>> from headwise import experiment
    >>> config = experiment("minimal", changes={"train.steps": 1000, "task.m": 1.3})
    >>> config.preset, config.train.steps, config.task.m
    ('published', 1000, 1.3)
    """
    if not isinstance(name, str) or name not in EXPERIMENTS:
        raise ConfigError(
            f"unknown experiment {name!r}{nearest_key(str(name), EXPERIMENTS)}; `headwise list` shows all of them"
        )
    return EXPERIMENTS[name](preset).changed(changes)


def as_run_config(given: RunConfig | Mapping[str, Any] | str) -> RunConfig:
    """A run's config, checked: from a config, from all its values as `config.json` holds them, or from a name."""
    if isinstance(given, str):
        return experiment(given)
    if not isinstance(given, RunConfig | Mapping):
        raise ConfigError(f'a run needs a RunConfig, such as experiment("minimal") (got a {type(given).__name__})')
    return validated(RunConfig, given)
