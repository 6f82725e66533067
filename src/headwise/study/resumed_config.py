"""The config that an unfinished run goes on with: computed as the run was begun, and worded as it is stored."""

from __future__ import annotations

from typing import Any

from headwise.core.config import validated
from headwise.core.errors import ConfigError, CorruptData
from headwise.model.paths import choose
from headwise.store import OnDamage, RunDirectory
from headwise.store.documents import json_digest
from headwise.study.config import RunConfig, scientific_content


def with_stored_compute(config: RunConfig, run: RunDirectory, *, on_damage: OnDamage) -> RunConfig:
    """Resume on the path, threads and device a run was begun with: another order of sums gives other last bits."""
    if not run.config_path.exists():
        return config
    try:
        stored = validated(RunConfig, run.read_config()).compute
    except CorruptData:
        if on_damage == "refuse":
            raise
        return config
    asked = config.compute.path
    if asked not in ("auto", stored.path):
        raise ConfigError(
            f"--path {asked}: {run.path} was begun with --path {stored.path}; resume with that or choose another --out"
        )
    return config.changed({"compute": stored})


def begun_digest(config: RunConfig) -> str:
    """The digest of the config.json that a run of this config would be begun with here and now."""
    path = choose(config.model, config.compute).path
    return json_digest(config.changed({"compute.path": path}).model_dump(mode="json"))


def as_stored(config: RunConfig, run: RunDirectory, *, on_damage: OnDamage) -> dict[str, Any]:
    """A config as the run's file words it.

    Begun before some setting existed, or under another name of its reading, or with its file of features elsewhere, a
    run is the same.
    """
    if run.config_path.exists() and on_damage == "refuse":
        stored = run.read_config()
        begun = validated(RunConfig, stored)
        same = scientific_content(begun) == scientific_content(config)
        if same and (begun.seed, begun.compute, begun.experiment) == (config.seed, config.compute, config.experiment):
            return stored
    return config.model_dump(mode="json")
