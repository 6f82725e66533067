"""What `headwise.train`, `experiment` and the flows are given is checked before anything is computed or written."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

import matplotlib
import pytest
import xarray as xr
from tests.conftest import tiny
from tests.core.test_config_changed import command_line

import headwise
import headwise.study.experiments
from headwise import FlowConfig, RunConfig, TrainConfig
from headwise.core.errors import ConfigError
from headwise.study.experiments import EXPERIMENTS, as_run_config


def test_an_experiment_is_published_unless_the_text_is_asked_for() -> None:
    for name, build in EXPERIMENTS.items():
        assert headwise.experiment(name) == build("published")
        assert headwise.experiment(name, "text") == build("text")
    changes = {"train.steps": 1000, "task": {"m": 1.3}}
    assert headwise.experiment("minimal", "text", changes=changes) == (
        headwise.experiment("minimal", "text").changed(changes)
    )


def test_an_experiment_with_changes_is_the_config_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    from headwise.cli.main import main

    main(["train", "full", "--preset", "text", "--train.samples", "600", "--measure.windows", "4", "8", "--dry-run"])
    printed = json.loads(capsys.readouterr().out)["config"]
    changes = {"train.samples": 600, "measure.windows": (4, 8)}
    assert headwise.experiment("full", "text", changes=changes).model_dump(mode="json") == printed


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (("minmal",), ("minmal",)),
        (("minimal", "published", {"train.stpes": 3}), ("minimal", "--train.stpes", "3")),
        (("minimal", "text", {"train.lr": -5}), ("minimal", "--preset", "text", "--train.lr", "-5")),
    ],
)
def test_a_mistake_has_the_sentence_of_the_command_line(given: tuple[Any, ...], asked: tuple[str, ...]) -> None:
    name, preset, changes = (*given, *("published", {})[len(given) - 1 :])
    with pytest.raises(ConfigError) as caught:
        headwise.experiment(name, preset, changes=changes)
    assert str(caught.value) == command_line("train", *asked, "--dry-run")


def test_a_preset_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^preset = 'publshed' must be 'published', 'redrawn' or 'text'; did you"):
        headwise.experiment("minimal", "publshed")  # type: ignore[arg-type]


UNCHECKED = {
    "misspelt key": (tiny().model_copy(update={"stpes": 1000}), "unknown key stpes; did you mean train.steps?"),
    "misspelt key of a section": (
        tiny().model_copy(update={"train": tiny().train.model_copy(update={"stpes": 1000})}),
        "unknown key train.stpes; did you mean train.steps?",
    ),
    "bad value": (
        tiny().model_copy(update={"train": TrainConfig.model_construct(lr=-5)}),
        "train.lr: Input should be greater than 0 (got -5)",
    ),
    "values that do not fit": (
        tiny().model_copy(update={"task": tiny().task.model_copy(update={"w": 7})}),
        "task.w = 7 does not split into task.h = 3 equal groups; change one or list task.groups",
    ),
    "part of the values": ({"task": {"m": 1.3}}, "experiment is missing; give it a value"),
    "a misspelt name": (
        "minmal",
        "unknown experiment 'minmal'; did you mean minimal?; `headwise list` shows all of them",
    ),
    "a flow": (FlowConfig(), 'a run needs a RunConfig, such as experiment("minimal") (got a FlowConfig)'),
    "nothing": (None, 'a run needs a RunConfig, such as experiment("minimal") (got a NoneType)'),
}


@pytest.mark.parametrize(("given", "line"), UNCHECKED.values(), ids=UNCHECKED)
def test_train_refuses_what_was_not_checked_and_writes_nothing(given: Any, line: str, tmp_path: Path) -> None:
    out = tmp_path / "runs"
    with pytest.raises(ConfigError) as caught:
        headwise.train(given, out=out)
    assert str(caught.value) == line
    assert not out.exists()


def test_train_takes_a_config_its_values_or_a_name(tmp_path: Path) -> None:
    config = tiny(train__steps=2)
    first = headwise.train(config, out=tmp_path)
    [run] = (tmp_path / "minimal").iterdir()
    stored = json.loads((run / "config.json").read_text())
    assert headwise.train(stored, out=tmp_path).identical(first)
    assert list((tmp_path / "minimal").iterdir()) == [run]
    assert as_run_config("minimal") == headwise.experiment("minimal")


def test_the_example_of_experiment_is_true() -> None:
    results = doctest.testmod(headwise.study.experiments)
    assert (results.attempted, results.failed) == (3, 0)


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it stands, but with a small task and few steps in place of a minute of training."""
    asked: list[RunConfig] = []

    def train_a_small_one(config: RunConfig, out: str) -> xr.Dataset:
        asked.append(config)
        return train(tiny(train__steps=60), out=tmp_path / out)

    train = headwise.train
    monkeypatch.setattr(headwise, "train", train_a_small_one, raising=False)
    matplotlib.use("agg")
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    [code] = [code for code in re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL) if "experiment" in code]
    exec(compile(code, "README.md", "exec"), {})
    assert asked == [headwise.experiment("minimal", changes={"train.steps": 1000, "task.m": 1.5})]


def test_flows_are_checked_too(tmp_path: Path) -> None:
    broken = FlowConfig().model_copy(update={"h": 0})
    for solve in (
        headwise.simulate,
        lambda given: headwise.simulate_seeds([0], given),
        lambda given: headwise.keep_flow(given, out=tmp_path),
    ):
        with pytest.raises(ConfigError, match=r"^h: Input should be greater than or equal to 1 \(got 0\)$"):
            solve(broken)
        with pytest.raises(ConfigError, match=r"^a FlowConfig is needed \(got a RunConfig\)$"):
            solve(tiny())  # type: ignore[arg-type]
    for solve in (headwise.simulate, headwise.keep_flow):
        with pytest.raises(ConfigError, match=r"^seed = -1 must not be negative$"):
            solve(seed=-1)
    with pytest.raises(ConfigError, match=r"^seed = -1 must not be negative$"):
        headwise.simulate_seeds([0, -1])
    assert not list(tmp_path.iterdir())
