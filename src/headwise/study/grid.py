"""Grids over config keys: cartesian over some, zipped over others, times seeds."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.keys import known_keys, unknown_key
from headwise.study.config import RunConfig


def plan_points(over: Mapping[str, Sequence[Any]], zipped: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Every combination of `over`, each with every row of `zipped`, in the order given; the last key varies fastest."""
    for axes in (over, zipped):
        if not isinstance(axes, Mapping):
            raise ConfigError(f"axes are given by key, such as {{'task.m': [1, 1.5]}} (got {axes!r})")
    for key, values in [*over.items(), *zipped.items()]:
        check_key(key)
        if isinstance(values, str) or not isinstance(values, Sequence | range):
            raise ConfigError(f"the grid over {key} needs a list of values, such as [1, 1.5] (got {values!r})")
        if not values:
            raise ConfigError(f"the grid over {key} is empty; give it values, as in --over {key}=1,2,3")
        if len({repr(value) for value in values}) < len(values):
            raise ConfigError(f"the grid over {key} names a value twice, which would be the same run; name each once")
    if clash := set(over) & set(zipped):
        raise ConfigError(f"{min(clash)} is in --over and in --zip; give it once")
    lengths = {len(values) for values in zipped.values()}
    if len(lengths) > 1:
        found = ", ".join(f"{key} has {len(values)}" for key, values in zipped.items())
        raise ConfigError(f"--zip needs lists of one length: {found}")
    rows = [dict(zip(zipped, row, strict=True)) for row in zip(*zipped.values(), strict=True)] if zipped else [{}]
    return [
        {**dict(zip(over, point, strict=True)), **row} for point in itertools.product(*over.values()) for row in rows
    ]


def check_key(key: str) -> None:
    """A grid key must be a key of the config other than the seed, which has an option of its own."""
    if key == "seed":
        raise ConfigError("seeds are given by --seeds 0..9, not by --over seed=...")
    if key in ("experiment", "preset"):
        raise ConfigError(f"a grid has one {key}; sweep over each of them by itself")
    if key not in known_keys(RunConfig):
        raise ConfigError(unknown_key(key, RunConfig))


def split_values(text: str) -> list[str]:
    """Split at commas that are not inside brackets: `[1,2],[3]` has two values."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += character in "[{"
        depth -= character in "]}"
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part.strip() for part in [*parts, current] if part.strip()]
