"""The config that an unfinished run goes on with: computed as the run was begun, and worded as it is stored."""

from __future__ import annotations

import itertools
from typing import Any

from headwise.core.config import validated
from headwise.core.errors import ConfigError, CorruptData
from headwise.model.paths import choose
from headwise.store import OnDamage, RunDirectory
from headwise.store.documents import json_digest
from headwise.store.same_run import recorded_for_config
from headwise.study.config import YOUNGER_KEYS, RunConfig, scientific_content


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


def begun_digests(config: RunConfig) -> set[str]:
    """The digests of the config.json that a run of this config may have been begun with on this machine."""
    path = choose(config.model, config.compute).path
    return {json_digest(wording) for wording in wordings(config.changed({"compute.path": path}))}


def wordings(config: RunConfig) -> list[dict[str, Any]]:
    """A config as it is written now, and as it was before unused keys and the present names of readings existed."""
    now = config.model_dump(mode="json")
    unset = [(room, key) for room, key, value in YOUNGER_KEYS if now[room][key] == value]
    found = []
    for count in range(len(unset) + 1):
        for younger in itertools.combinations(unset, count):
            rooms = {room: {k: v for k, v in now[room].items() if (room, k) not in younger} for room, _ in unset}
            found.append({**now, **rooms})
    if config.preset == "redrawn":
        found += [{**wording, "preset": "published"} for wording in found]
    return found


def as_stored(config: RunConfig, run: RunDirectory, *, on_damage: OnDamage) -> dict[str, Any]:
    """A config as the run's file words it.

    Begun before some setting existed, or under another name of its reading, or with its file of features elsewhere, a
    run is the same.
    """
    try:
        stored = run.read_config() if run.config_path.exists() else None
    except CorruptData:
        if on_damage == "refuse":
            raise
        recorded = recorded_for_config(run)
        known = (wording for wording in wordings(config) if json_digest(wording) in recorded)
        return next(known, config.model_dump(mode="json"))
    if stored is not None:
        begun = validated(RunConfig, stored)
        same = scientific_content(begun) == scientific_content(config)
        if same and (begun.seed, begun.compute, begun.experiment) == (config.seed, config.compute, config.experiment):
            return stored
    return config.model_dump(mode="json")
