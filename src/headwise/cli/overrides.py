"""Dotted keys on the command line and TOML files, both checked by the one config schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic.fields import FieldInfo

from headwise.core.config import Config
from headwise.core.errors import ConfigError
from headwise.core.foreign_text import parse_json, parse_toml, read_foreign
from headwise.core.keys import flatten, known_keys, nearest_key, unknown_key
from headwise.core.text import definitions
from headwise.study.config import RunConfig

COMMAND_AND_ONE = 2
FIXED = ("experiment", "preset", "own", "branch")
"""Keys that the command line sets by its own arguments or commands, or, code of one's own, not at all."""


def take_config_options(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Set dotted options and their values apart from what argparse knows, wherever they stand.

    An option takes all values up to the next option, but only one as long as no positional argument has been seen, so
    that `train --task.m 1.5 minimal` still names its experiment.
    """
    rest: list[str] = []
    taken: list[str] = []
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        index += 1
        if not (argument.startswith("--") and "." in argument.partition("=")[0]):
            rest.append(argument)
            continue
        taken.append(argument)
        positionals = sum(not before.startswith("-") for before in rest)
        most = 0 if "=" in argument else 1 if positionals < COMMAND_AND_ONE else len(arguments)
        while most and index < len(arguments) and not _is_option(arguments[index]):
            taken.append(arguments[index])
            index, most = index + 1, most - 1
    return rest, taken


def _is_option(argument: str) -> bool:
    """Whether this is an option and not a value: a negative number is a value."""
    if not argument.startswith("-") or argument == "-":
        return False
    try:
        float(argument)
    except ValueError:
        return True
    return False


def parse_overrides(
    arguments: Sequence[str], options: Sequence[str], schema: type[Config] = RunConfig
) -> dict[str, Any]:
    """`--task.m 1.5 --measure.windows 4 8 --train.lr=0.01` as `{key: value}`; `options` only help a misspelt one.

    Values are checked later, by `Config.changed`.
    """
    keys = [key for key in known_keys(schema) if key not in FIXED]
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for argument in arguments:
        if argument.startswith("--"):
            name, equals, value = argument[2:].partition("=")
            key = name.replace("-", "_")
            if key not in keys:
                raise ConfigError(_unknown(name, key, schema=schema, options=options))
            if key in found:
                raise ConfigError(f"--{key} is given twice; give it once")
            current = found.setdefault(key, [])
            if equals:
                current.append(value)
        elif current is None:
            raise ConfigError(f"unexpected argument {argument!r}; config keys are given as --task.m 1.5")
        else:
            current.append(argument)
    return {key: _value(key, texts) for key, texts in found.items()}


def read_config_file(path: Path) -> dict[str, Any]:
    """A TOML file's sections as `{dotted key: value}`."""
    try:
        content = parse_toml(read_foreign(path))
    except OSError as error:
        raise ConfigError(f"--config {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise ConfigError(f"--config {path} is not valid TOML: {str(error).splitlines()[0]}") from None
    return flatten(content, RunConfig)


def describe_keys(base: Config) -> str:
    """Every key with its value in `base` and its meaning, for `--help`."""
    return definitions(list(_described(base)), most=32)


def _described(config: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, field in type(config).model_fields.items():
        value = getattr(config, name)
        if hasattr(type(value), "model_fields"):
            for key, meaning in _described(value, f"{prefix}{name}."):
                yield key, f"{field.description}: {meaning}" if field.description else meaning
        elif f"{prefix}{name}" not in FIXED:
            shown = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
            yield f"--{prefix}{name} {shown}", _meaning(field)


def _meaning(field: FieldInfo) -> str:
    """A key's description, with the words it takes where the description does not name them all."""
    words = [word for word in words_of(field.annotation) if word not in ("on", "off")]
    about = field.description or ""
    return about if all(word in about for word in words) else f"{about} ({', '.join(words)})"


def words_of(annotation: Any) -> list[str]:
    if isinstance(annotation, str):
        return [annotation]
    return [word for part in get_args(annotation) for word in words_of(part)]


def _value(key: str, texts: list[str]) -> Any:
    if not texts:
        raise ConfigError(f"--{key} needs a value")
    if len(texts) > 1:
        return [literal(text) for text in texts]
    text = texts[0]
    if "," in text and not text.lstrip().startswith(("[", "{", '"')):
        return [literal(part) for part in text.split(",") if part]
    return literal(text)


def literal(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text


def _unknown(name: str, key: str, *, schema: type[Config], options: Sequence[str]) -> str:
    """A dotted option can only be a config key and gets its sentence; any other may be a misspelt option as well."""
    if "." in key:
        return unknown_key(key, schema)
    keys = [known for known in known_keys(schema) if known not in FIXED]
    near = nearest_key(key, [*keys, *(option.lstrip("-").replace("-", "_") for option in options)])
    return f"unknown option --{name}{near.replace('did you mean ', 'did you mean --')}"
