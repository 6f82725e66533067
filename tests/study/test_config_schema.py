"""The JSON Schema of configs against jsonschema, an implementation of its own, and against the configs themselves."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from headwise.cli.main import main
from headwise.core.config import validated
from headwise.core.errors import ConfigError
from headwise.core.keys import known_keys
from headwise.flow.config import FlowConfig
from headwise.study.cluster_config import ClusterConfig
from headwise.study.config import RunConfig
from headwise.study.config_schema import config_schema
from headwise.study.experiments import EXPERIMENTS, experiment

jsonschema = pytest.importorskip("jsonschema")


def refuses(of: Any, document: Any) -> bool:
    schema = config_schema(of).to_json()
    jsonschema.Draft202012Validator.check_schema(schema)
    return bool(list(jsonschema.Draft202012Validator(schema).iter_errors(document)))


def nested(key: str, value: Any) -> dict[str, Any]:
    for name in reversed(key.split(".")):
        value = {name: value}
    return dict(value)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_a_valid_file(name: str) -> None:
    for preset in ("published", "redrawn", "text"):
        assert not refuses("run", experiment(name, preset).model_dump(mode="json"))  # type: ignore[arg-type]


def test_every_key_is_there_with_its_meaning() -> None:
    for schema, of in ((RunConfig, "run"), (FlowConfig, "flow")):
        document = config_schema(of).to_json()  # type: ignore[arg-type]
        for key in (key for key in known_keys(schema) if key != "own"):  # headwise.train alone sets it
            part: dict[str, Any] = document
            for name in key.split("."):
                part = part["properties"][name]
                [part] = part.get("allOf", [part])  # a section is wrapped so by pydantic 2.7
                if "$ref" in part:
                    part = document["$defs"][part["$ref"].rpartition("/")[2]]
            assert part.get("description"), key


@pytest.mark.parametrize("key", [key for key in known_keys(RunConfig) if key not in ("experiment", "preset")])
def test_a_key_takes_no_object_of_strange_keys_and_neither_does_the_config(key: str) -> None:
    wrong = {"no such": ["thing"]}
    with pytest.raises(ConfigError):
        experiment("minimal").changed({key: wrong})
    assert refuses("run", nested(key, wrong))


@pytest.mark.parametrize(
    "text",
    [
        "[task]\nm = -1",
        "[task]\nmm = 1",
        "[model]\nscore = 'sum'",
        "[train]\nsteps = 1.5",
        "[model.dropout]\nmlp = 1.0",
        "stpes = 3",
        "[model]\nheads = 'none'",
    ],
)
def test_what_a_config_refuses_the_schema_refuses(text: str) -> None:
    with pytest.raises(ConfigError):
        experiment("minimal").changed(tomllib.loads(text))
    assert refuses("run", tomllib.loads(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "seed = 4\n[task]\nm = 1",
        "[model]\ncontext = 'none'",
        "task.groups = [[1], [2, 3], [4]]",
        "[train.options]\nmomentum = 0.9",
    ],
)
def test_what_a_file_may_say_the_schema_takes(text: str) -> None:
    experiment("minimal").changed(tomllib.loads(text))
    assert not refuses("run", tomllib.loads(text))


def test_cluster_and_flow() -> None:
    good = {"queue": "none", "time": "01:00:00", "setup": ["module load python"]}
    validated(ClusterConfig, good)
    assert not refuses("cluster", {"cluster": good})
    assert refuses("cluster", {"cluster": {"memory": "much"}})
    assert not refuses("flow", FlowConfig().model_dump(mode="json"))
    assert refuses("flow", {"h": 0})


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    for of in ("run", "flow", "cluster"):
        assert main(["schema", of]) == 0
        assert json.loads(capsys.readouterr().out) == config_schema(of).to_json()  # type: ignore[arg-type]
    assert main(["schema", "task"]) == 2
    with pytest.raises(ConfigError, match="of = 'task' must be 'run', 'flow' or 'cluster'"):
        config_schema("task")  # type: ignore[arg-type]
