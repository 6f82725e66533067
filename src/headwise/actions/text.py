"""Actions as text: `freeze:heads=1,2:part=values`, `copy:1->2`, `sham`; every mistake is one line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from headwise.actions.ablate import Ablate
from headwise.actions.action import Action, HeldAction
from headwise.actions.block import Block
from headwise.actions.clamp import Clamp
from headwise.actions.copy import Copy
from headwise.actions.freeze import Freeze
from headwise.actions.perturb import Perturb
from headwise.actions.reset import Reset
from headwise.actions.scale import Scale
from headwise.actions.sham import Sham
from headwise.actions.swap import Swap
from headwise.actions.tie import Tie
from headwise.core.config import validated
from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key

KINDS: tuple[type[Action], ...] = (
    Ablate,
    Block,
    Clamp,
    Copy,
    Freeze,
    Perturb,
    Reset,
    Scale,
    Sham,
    Swap,
    Tie,
)

ACTIONS = {kind.name: kind for kind in KINDS}
"""Every action by its name."""

LISTS = ("heads", "blocks", "groups", "lags")


def parse_action(text: str, *, until: int | None = None) -> Action:
    """The action that a text names; `until` ends one that holds something and does not say itself how long."""
    name, *parts = text.strip().split(":")
    kind = ACTIONS.get(name)
    if kind is None:
        near = nearest_key(name, ACTIONS) or f"; known: {', '.join(ACTIONS)}"
        raise ConfigError(f"action {text!r}: there is no action {name!r}{near}")
    values: dict[str, Any] = {}
    for part in parts:
        key, equals, value = part.partition("=")
        if kind is Copy and (arrow := re.fullmatch(r"(\d+)->(\d+(?:,\d+)*)", part)) is not None:
            values |= {"source": int(arrow[1]), "heads": _read("heads", arrow[2])}
            continue
        if not equals or not key or not value:
            raise ConfigError(f"action {text!r}: write {part!r:.40} as key=value; {name} takes {_keys(kind)}")
        if key not in kind.model_fields:
            near = nearest_key(key, kind.model_fields) or f"; it takes {_keys(kind)}"
            raise ConfigError(f"action {text!r}: {name} has no key {key!r}{near}")
        if key in values:
            raise ConfigError(f"action {text!r}: {key} is given twice; give it once")
        values[key] = _read(key, value)
    if until is not None and issubclass(kind, HeldAction) and "until" not in values:
        values["until"] = until
    try:
        return validated(kind, values)
    except ConfigError as error:
        raise ConfigError(f"action {text!r}: {error}") from None


def require_texts(do: Sequence[str], name: str = "do") -> None:
    """Refuse what is no list of texts, which only Python can give."""
    if isinstance(do, str):
        raise ConfigError(f"{name} = {do!r} must be a list of actions, such as [{do!r}]")
    if not isinstance(do, Sequence) or not all(isinstance(text, str) for text in do):
        raise ConfigError(f"{name} = {do!r:.60} must be a list of actions in words, such as ['freeze:heads=1']")


def _read(key: str, value: str) -> Any:
    if key in LISTS and value != "all":
        return [_plain(one) for one in value.split(",")]
    return _plain(value)


def _plain(value: str) -> Any:
    try:
        found = json.loads(value)
    except ValueError:
        return value
    return found if isinstance(found, int | float) else value


def _keys(kind: type[Action]) -> str:
    return ", ".join(kind.model_fields)
