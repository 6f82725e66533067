"""The keys of a run's config, for whoever takes one of them for an option of a function."""

from __future__ import annotations

from headwise.core.keys import known_keys


def run_config_keys() -> list[str]:
    """Every key with its sections, such as `train.steps`."""
    from headwise.study.config import RunConfig

    return list(known_keys(RunConfig))
