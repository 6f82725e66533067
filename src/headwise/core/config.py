"""The base of every config class: frozen, closed to unknown keys, free of NaN, checked whenever made or changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from headwise.core.errors import ConfigError
from headwise.core.keys import flatten, known_keys, unknown_key

Switch = Literal["on", "off"]

ConfigType = TypeVar("ConfigType", bound="Config")

HASH_DIGITS = 32

NO_CHANGES: Mapping[str, Any] = MappingProxyType({})


class Config(BaseModel):
    """A frozen record whose JSON form is its identity.

    A wrong key or value raises `ConfigError` with one sentence, the same in Python and on the command line. To change a
    config use `changed`; pydantic's `model_copy` checks nothing.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True, revalidate_instances="always"
    )

    if not TYPE_CHECKING:  # type checkers should see the arguments of each class, not this

        def __init__(self, /, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise ConfigError(first_problem(type(self), error)) from None

        # Pydantic then checks sections inside the config that holds them, where the whole key is known.
        __init__.__pydantic_base_init__ = True

    def changed(self, changes: Mapping[str, Any] = NO_CHANGES, /) -> Self:
        """A copy with some keys changed, checked as a whole: `config.changed({"train.steps": 1000, "task.m": 1.3})`.

        A section may also be given as a mapping of the keys to change, or as a config that replaces it.
        """
        schema = type(self)
        if not isinstance(changes, Mapping):
            raise ConfigError(f"changes are given by key, such as {{'task.m': 1.3}} (got {_shown(changes)})")
        flat = flatten(changes, schema)
        known = set(known_keys(schema))
        for key in flat:
            if key not in known:
                raise ConfigError(unknown_key(key, schema))
        return validated(schema, validated(schema, self)._content_with(flat))

    def with_consequences(self, changes: Mapping[str, Any]) -> Mapping[str, Any]:
        """The changes to this config's keys together with what they bring with them; most classes add nothing."""
        return changes

    def _content_with(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        changes = self.with_consequences(changes)
        content = dict(vars(self))
        for name, value in content.items():
            if isinstance(value, Config):
                start = f"{name}."
                inner = {key.removeprefix(start): new for key, new in changes.items() if key.startswith(start)}
                content[name] = value._content_with(inner)
        return content | {key: value for key, value in changes.items() if "." not in key}

    @model_validator(mode="before")
    @classmethod
    def _read_none_as_unset(cls, values: Any) -> Any:
        """TOML and command lines have no null: `none` stands for it in the keys that may be empty, and only there."""
        if not isinstance(values, Mapping):
            return values
        optional = {name for name, field in cls.model_fields.items() if type(None) in get_args(field.annotation)}
        return {key: None if key in optional and value == "none" else value for key, value in values.items()}


def canonical_json(content: Any) -> str:
    """The one text of a JSON value: equal content, equal text, on every machine."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(content: Mapping[str, Any]) -> str:
    """32 hexadecimal digits that name this content: so many that two contents with one name will never be met."""
    return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:HASH_DIGITS]


def validated(schema: type[ConfigType], values: Mapping[str, Any] | Config) -> ConfigType:
    """A config made of plain values, or one that exists already checked again; the first problem becomes one line."""
    if not isinstance(values, Mapping | schema):
        given = f"a {type(values).__name__}" if isinstance(values, Config) else _shown(values)
        raise ConfigError(f"a {schema.__name__} is needed (got {given})")
    try:
        return schema.model_validate(dict(values) if isinstance(values, Mapping) else values)
    except ValidationError as error:
        raise ConfigError(first_problem(schema, error)) from None


def first_problem(schema: type[Config], error: ValidationError) -> str:
    """The first validation problem as one line: key, what is wrong, and the nearest valid key for a typo."""
    detail = error.errors()[0]
    key = _field_path(schema, detail["loc"])
    if detail["type"] == "extra_forbidden":
        return unknown_key(key, schema)
    message = detail["msg"].removeprefix("Value error, ").replace("\n", " ")
    if not key:
        return message
    if detail["type"] == "missing":
        return f"{key} is missing; give it a value"
    if detail["type"] == "value_error":
        # A check over several keys names them itself.
        return message if message.startswith(key) else f"{key}: {message}"
    return f"{key}: {message} (got {_shown(detail.get('input'))})"


def _field_path(schema: type[Config], location: tuple[int | str, ...]) -> str:
    """The dotted key of an error location; union branches that pydantic names in between are left out."""
    path: list[str] = []
    inner: Any = schema
    for part in location:
        if isinstance(inner, type) and issubclass(inner, Config):
            path.append(str(part))
            field = inner.model_fields.get(str(part))
            inner = field.annotation if field else None
    return ".".join(path)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
