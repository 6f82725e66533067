"""The reference of config keys, from the schemas: type, range, value in the minimal experiment, meaning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from headwise.core.config import Config
from headwise.core.keys import known_keys
from headwise.core.markdown import markdown_table
from headwise.flow.config import FlowConfig
from headwise.study.cluster_config import ClusterConfig
from headwise.study.config_schema import SchemaOf, config_schema
from headwise.study.experiments import experiment

HEADER = """# Config keys

This page is made from the schemas when the site is built; `headwise schema` prints them for editors and programs
([how](../how-to/config-files.md)).

A key is given as an option (`--task.m 1.3`), in a TOML file (`--config FILE`), or in Python
(`experiment("minimal", changes={"task.m": 1.3})`); of several the option wins. `none` empties a key that may be empty.
What depends on several keys at once is checked too, and a mistake is one line that names the key.
"""

NOT_IN_FILES = ("own",)
"""Keys that no file and no option sets."""


def render() -> str:
    """The page as Markdown."""
    run = experiment("minimal")
    parts = [
        HEADER,
        "## Run\n\nKeys of `headwise train` and `headwise sweep`. The value is that of `minimal` in the published "
        f"reading; `headwise train NAME --dry-run` prints those of any experiment.\n\n{table(run, 'run')}\n",
        f"## Flow\n\nKeys of `headwise flow`, with their defaults.\n\n{table(FlowConfig(), 'flow')}\n",
        "## Cluster\n\nKeys of the section `[cluster]` in a `--cluster` file, with their defaults.\n\n"
        f"{table(ClusterConfig(), 'cluster')}",
    ]
    return "\n".join(parts) + "\n"


def table(config: Config, of: SchemaOf) -> str:
    """Every key of a config."""
    document = config_schema(of).to_json()
    rows = []
    for key in known_keys(type(config)):
        if key not in document.get("properties", {}) and key in NOT_IN_FILES:
            rows.append((f"`{key}`", "set by `headwise.train`", "`none`", type(config).model_fields[key].description))
            continue
        described = _described(document, ([of] if of == "cluster" else []) + key.split("."))
        value: Any = config
        for name in key.split("."):
            value = getattr(value, name)
        rows.append((f"`{key}`", kind(described), f"`{_shown(value)}`", described.get("description", "")))
    return markdown_table(("key", "takes", "value", "meaning"), rows)


def kind(part: Mapping[str, Any]) -> str:
    """What a JSON Schema takes, in words."""
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(kind(one) for one in part["anyOf"] if one != {"type": "null"}))
    if "enum" in part:
        return ", ".join(f"`{word}`" for word in part["enum"])
    if "const" in part:
        return f"`{part['const']}`"
    if part.get("type") == "array":
        inner = part.get("items") or {"anyOf": part.get("prefixItems", [])}
        return f"list of {kind(inner)}" if inner.get("anyOf", True) else "list"
    name = {"integer": "whole number", "number": "number", "string": "text", "object": "keys and values"}
    return name.get(part.get("type", ""), "value") + _range(part)


def _range(part: Mapping[str, Any]) -> str:
    signs: tuple[tuple[Literal["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"], str], ...] = (
        ("minimum", "≥"),
        ("exclusiveMinimum", ">"),
        ("maximum", "≤"),
        ("exclusiveMaximum", "<"),
    )
    limits = [f"{sign} {part[name]:g}" for name, sign in signs if name in part]
    return f" {', '.join(limits)}" if limits else ""


def _described(document: Mapping[str, Any], names: list[str]) -> Mapping[str, Any]:
    part: Mapping[str, Any] = document
    for name in names:
        part = part["properties"][name]
        if "$ref" in part:
            part = document["$defs"][part["$ref"].rpartition("/")[2]]
    return part


def _shown(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
