"""`config_schema`: what may stand in a TOML file of config keys, for editors and other programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from headwise.core.config import Config
from headwise.core.named_options import named_options
from headwise.flow.config import FlowConfig
from headwise.study.cluster_config import ClusterConfig
from headwise.study.config import RunConfig

SchemaOf = Literal["run", "flow", "cluster"]
DIALECT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class ConfigSchema:
    """A JSON Schema (draft 2020-12); `str` of this is what `headwise schema` prints."""

    of: SchemaOf
    document: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The schema itself, ready for `json.dumps`."""
        return dict(self.document)

    def __str__(self) -> str:
        return json.dumps(self.document, indent=2, allow_nan=False)


@named_options
def config_schema(of: SchemaOf = "run") -> ConfigSchema:
    """The JSON Schema of a config: of a `--config` file (`run`), of a flow, or of a `--cluster` file.

    It knows every key with its meaning, its type, its words and its range. What depends on several keys at once, such
    as lags that have to fit into the order of the chain, it does not know: `headwise train --dry-run` does.

    >>> from headwise import config_schema
    >>> config_schema().to_json()["$defs"]["TaskConfig"]["properties"]["m"]["description"]
    'importance ratio between neighbouring groups'
    """
    if of == "run":
        return ConfigSchema(of, _file_of_keys(RunConfig, "keys of a run; what is left out comes from the experiment"))
    if of == "flow":
        return ConfigSchema(of, _headed(_schema(FlowConfig), "config of a flow"))
    section = _schema(ClusterConfig)
    document = {"type": "object", "properties": {"cluster": section}}
    return ConfigSchema(of, _headed(document, "settings of a batch system"))


def _headed(document: dict[str, Any], title: str) -> dict[str, Any]:
    return {"$schema": DIALECT, **document, "title": f"headwise: {title}"}


def _schema(schema: type[Config]) -> dict[str, Any]:
    """Pydantic's schema; of a class's docstring only what it is, not its example."""
    document = schema.model_json_schema()
    _allow_none_as_word(document)
    for part in (document, *document.get("$defs", {}).values()):
        part["description"] = " ".join(part["description"].partition("\n\n")[0].split())
    return document


def _file_of_keys(schema: type[Config], title: str) -> dict[str, Any]:
    """Without required keys and without defaults: a file changes an experiment, whose values are not the class's."""
    document = _schema(schema)
    document["properties"].pop("own", None)  # written by headwise.train alone
    for part in (document, *document["$defs"].values()):
        part.pop("required", None)
        for key in part["properties"].values():
            key.pop("default", None)
    return _headed(document, title)


def _allow_none_as_word(document: Any) -> None:
    """TOML has no null: a key that may be empty takes the word none."""
    if isinstance(document, list):
        for part in document:
            _allow_none_as_word(part)
    elif isinstance(document, dict):
        for part in document.values():
            _allow_none_as_word(part)
        choices = document.get("anyOf", ())
        if {"type": "null"} in choices:
            document["anyOf"] = [*choices, {"const": "none"}]
