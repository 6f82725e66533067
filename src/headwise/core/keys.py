"""Config keys as the command line writes them: sections and names joined by dots, such as `train.steps`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from headwise.core.errors import ConfigError

NEAR = 0.5
"""From which likeness on, between 0 and 1, a known key is offered for a misspelt one."""


def known_keys(schema: type[BaseModel], prefix: str = "") -> list[str]:
    """Every dotted key of a config class, depth first."""
    keys: list[str] = []
    for name, field in schema.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            keys.extend(known_keys(inner, f"{prefix}{name}."))
        else:
            keys.append(f"{prefix}{name}")
    return keys


def section_keys(schema: type[BaseModel]) -> set[str]:
    """Every dotted key of a config class that has keys of its own: `measure` and `measure.at` of a run."""
    parts = [key.split(".")[:-1] for key in known_keys(schema)]
    return {".".join(part[:depth]) for part in parts for depth in range(1, len(part) + 1)}


def flatten(content: Mapping[str, Any], schema: type[BaseModel] | None = None) -> dict[str, Any]:
    """Nested keys as dotted ones: `{"train": {"steps": 5}}` is `{"train.steps": 5}`.

    With a config class only its sections are opened, a key whose value is itself a mapping (`train.options`) keeps it,
    and a key may stand there once; without one every mapping but an empty one is opened.
    """
    sections = None if schema is None else section_keys(schema)
    flat: dict[str, Any] = {}
    for key, value in _leaves(content, "", sections):
        if key in flat and sections is not None:
            raise ConfigError(f"{key} is given twice; give it once")
        flat[key] = value
    return flat


def _leaves(content: Mapping[str, Any], prefix: str, sections: set[str] | None) -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        key = f"{prefix}{name}"
        inner = vars(value) if isinstance(value, BaseModel) else value
        if isinstance(inner, Mapping) and (key in sections if sections is not None else inner):
            yield from _leaves(inner, f"{key}.", sections)
        else:
            yield key, value


def unknown_key(key: str, schema: type[BaseModel]) -> str:
    """The sentence for a key that a config class does not have, or that is a whole section of it."""
    if key in section_keys(schema):
        example = next(known for known in known_keys(schema) if known.startswith(f"{key}."))
        return f"{key} has keys of its own; give those, such as {example}"
    return f"unknown key {key}{nearest_key(key, known_keys(schema))}"


def nearest_key(key: str, keys: Iterable[str]) -> str:
    """A `did you mean` clause for an unknown key, or an empty string when nothing is near.

    A key without a section is near to `train.steps` also when it is near to `steps`.
    """
    scores: dict[str, tuple[float, float]] = {}
    for known in keys:
        whole, name = _likeness(known, key), known.rsplit(".", 1)[-1]
        by_name = _likeness(name, key) if "." not in key else float(name == key.rsplit(".", 1)[-1]) * NEAR
        scores[known] = (max(whole, by_name), whole)
    best = max(scores, key=lambda known: scores[known], default=None)
    return f"; did you mean {best}?" if best is not None and scores[best][0] >= NEAR else ""


def _likeness(known: str, key: str) -> float:
    return difflib.SequenceMatcher(None, known, key).ratio()
