"""The base of every config class: frozen, closed to unknown keys, free of NaN, and addressed by its content."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from headwise.core.errors import ConfigError

Switch = Literal["on", "off"]

ConfigType = TypeVar("ConfigType", bound="Config")


class Config(BaseModel):
    """A frozen record whose JSON form is its identity."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, validate_default=True)

    @model_validator(mode="before")
    @classmethod
    def _word_for_nothing(cls, values: Any) -> Any:
        """TOML and command lines have no null: `none` stands for it in the keys that may be empty, and only there."""
        if not isinstance(values, Mapping):
            return values
        optional = {name for name, field in cls.model_fields.items() if type(None) in get_args(field.annotation)}
        return {key: None if key in optional and value == "none" else value for key, value in values.items()}


def content_hash(content: Mapping[str, Any]) -> str:
    """Eight hexadecimal digits that name this content: equal content, equal name, on every machine."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:8]


def known_keys(schema: type[Config], prefix: str = "") -> list[str]:
    """Every dotted key of a config class, depth first."""
    keys: list[str] = []
    for name, field in schema.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, Config):
            keys.extend(known_keys(inner, f"{prefix}{name}."))
        else:
            keys.append(f"{prefix}{name}")
    return keys


def nearest_key(key: str, keys: Iterable[str]) -> str:
    """A `did you mean` clause for an unknown key, or an empty string when nothing is near."""
    keys = list(keys)
    near = difflib.get_close_matches(key, keys, n=1, cutoff=0.5)
    if not near:
        last = key.rsplit(".", 1)[-1]
        near = [k for k in keys if k.rsplit(".", 1)[-1] == last][:1]
    return f"; did you mean {near[0]}?" if near else ""


def validated(schema: type[ConfigType], values: Mapping[str, Any]) -> ConfigType:
    """Build a config from plain values; the first problem becomes one line that names its key."""
    try:
        return schema.model_validate(dict(values))
    except ValidationError as error:
        raise ConfigError(first_problem(schema, error)) from None


def first_problem(schema: type[Config], error: ValidationError) -> str:
    """The first validation problem as one line: key, what is wrong, and the nearest valid key for a typo."""
    detail = error.errors()[0]
    key = _field_path(schema, detail["loc"])
    if detail["type"] == "extra_forbidden":
        return f"unknown key {key}{nearest_key(key, known_keys(schema))}"
    message = detail["msg"].removeprefix("Value error, ").replace("\n", " ")
    if not key:
        return message
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
