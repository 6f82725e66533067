"""A changed config is a checked config, with the command line's own sentence for every mistake."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from headwise.cli.main import main
from headwise.core.config import Config, validated
from headwise.core.errors import ConfigError
from headwise.core.keys import flatten, known_keys, section_keys
from headwise.flow.config import FlowConfig
from headwise.model.config import DropoutConfig, ModelConfig
from headwise.phases.config import Thresholds
from headwise.study.config import RunConfig, config_hash
from headwise.study.experiments import EXPERIMENTS, experiment
from headwise.task.config import TaskConfig
from headwise.training.config import TrainConfig

MINIMAL = experiment("minimal")
CONFIGS: dict[str, Config] = {
    **{f"{name}-{preset}": build(preset) for name, build in EXPERIMENTS.items() for preset in ("published", "text")},
    "flow": FlowConfig(strengths=(3.0, 2.0, 1.0), noise="s-cov"),
    "task": TaskConfig(w=4, h=2, groups=((1, 3), (2, 4)), alpha=((0.5, 0.5), (0.1, 0.9))),
    "options": TrainConfig(optimizer="SGD", options={"nesterov": True, "dampening": 0, "eps": 0.0}),
    "thresholds": Thresholds(),
}


def value_of(config: Config, key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        value = getattr(value, part)
    return value


def sentence(change: Mapping[str, Any], config: Config = MINIMAL) -> str:
    with pytest.raises(ConfigError) as caught:
        config.changed(change)
    return str(caught.value)


def command_line(*arguments: str) -> str:
    """What `headwise` writes to stderr, without its name in front."""
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(io.StringIO()):
        main(list(arguments))
    return stderr.getvalue().removeprefix("headwise: ").removesuffix("\n")


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_no_change_and_every_value_set_to_itself_give_the_same_config(config: Config) -> None:
    assert config.changed() == config
    assert config.changed({}) == config
    own = {key: value_of(config, key) for key in known_keys(type(config))}
    assert config.changed(own) == config
    assert config.changed(config.model_dump(mode="json")) == config
    for key, value in own.items():
        again = config.changed({key: value})
        assert again == config
        assert json.dumps(again.model_dump(mode="json")) == json.dumps(config.model_dump(mode="json"))


@settings(deadline=None)
@given(steps=st.integers(0, 10**9), m=st.floats(0.5, 4.0), heads=st.integers(1, 8), seed=st.integers(0, 2**63 - 1))
def test_only_the_named_keys_change(steps: int, m: float, heads: int, seed: int) -> None:
    change = {"train.steps": steps, "task.m": m, "model.heads": heads, "seed": seed}
    changed = MINIMAL.changed(change)
    before, after = (flatten(config.model_dump(), RunConfig) for config in (MINIMAL, changed))
    assert after == {**before, **change}
    assert MINIMAL.changed({"train": {"steps": steps}, "task": {"m": m}, "model": {"heads": heads}, "seed": seed}) == (
        changed
    )
    assert changed.changed({key: before[key] for key in change}) == MINIMAL
    assert config_hash(MINIMAL.changed({"seed": seed})) == config_hash(MINIMAL)


def test_a_section_given_as_a_config_replaces_it() -> None:
    full = experiment("full")
    assert full.changed({"model.dropout": DropoutConfig()}).model.dropout == DropoutConfig()
    assert full.changed({"model": ModelConfig()}).model == ModelConfig()
    assert full.changed({"model.dropout": {"mlp": 0.3}}).model.dropout.embedding == full.model.dropout.embedding == 0.1
    assert full.changed({"model.dropout": {}, "train": {}}) == full
    assert "unknown key model.d; did you mean" in sentence({"model": TaskConfig()})


def test_a_value_that_is_itself_a_mapping_is_replaced_whole() -> None:
    config = TrainConfig(optimizer="SGD", options={"nesterov": True})
    assert config.changed({"options": {"dampening": 0.1}}).options == {"dampening": 0.1}
    assert config.changed({"options": {}}).options == {}


names = st.text(st.characters(codec="ascii", categories=["Ll", "Lu", "Nd"], include_characters="_"), min_size=1)
dotted = st.lists(names, min_size=2, max_size=4).map(".".join)
misspelt = st.tuples(st.sampled_from([k for k in known_keys(RunConfig) if "." in k]), st.integers(0, 30)).map(
    lambda pair: pair[0][: pair[1]] + pair[0][pair[1] + 1 :]
)


@settings(max_examples=60, deadline=None)
@given(key=st.one_of(dotted, misspelt.filter(lambda key: "." in key.strip("."))))
@example("train.stpes")
@example("pre.set")
@example("train.options.beta")
@example("model.dropout")
def test_an_unknown_key_is_refused_with_the_sentence_of_the_command_line(key: str) -> None:
    assume(key not in known_keys(RunConfig))
    assert command_line("train", "minimal", f"--{key}", "3", "--dry-run") == sentence({key: 3})
    if key not in section_keys(RunConfig):
        assert sentence({key: 3}).startswith(f"unknown key {key}")


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("train.lr", -5, "-5"),
        ("train.batch", 9001, "9001"),
        ("task.m", float("nan"), "NaN"),
        ("task.w", 7, "7"),
        ("task.alpha", [0.7, -0.3], "[0.7, -0.3]"),
        ("task.groups", [[1, 2], [2, 3], [4, 5]], "[[1,2],[2,3],[4,5]]"),
        ("model.heads", 0, "0"),
        ("model.window", 40, "40"),
        ("measure.windows", [7], "7"),
        ("measure.at.every", 0, "0"),
        ("compute.path", "gpu", "gpu"),
        ("seeds.task", -1, "-1"),
        ("train.samples", 10**10, str(10**10)),
    ],
)
def test_a_bad_value_has_the_sentence_of_the_command_line(key: str, value: Any, text: str) -> None:
    line = command_line("train", "minimal", f"--{key}={text}", "--dry-run")
    assert line == sentence({key: value})
    assert "\n" not in line
    assert key.split(".")[-1] in line


@pytest.mark.parametrize("change", [{"h": 0}, {"start": "C"}, {"groups": [[1], [1], [2]]}, {"t_end": "soon"}], ids=str)
def test_flows_too(change: dict[str, Any]) -> None:
    [(key, value)] = change.items()
    assert command_line("flow", f"--{key.replace('_', '-')}", json.dumps(value).strip('"')) == (
        sentence(change, FlowConfig())
    )


def test_both_ways_in_a_process_of_their_own() -> None:
    python = "import headwise; headwise.experiment('minimal').changed({'train.stpes': 3})"
    raised = subprocess.run([sys.executable, "-c", python], capture_output=True, text=True, check=False)
    asked = [sys.executable, "-m", "headwise", "train", "minimal", "--train.stpes", "3"]
    refused = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (raised.returncode, refused.returncode) == (1, 2)
    line = raised.stderr.splitlines()[-1].removeprefix("headwise.core.errors.ConfigError: ")
    assert (
        line
        == refused.stderr.removeprefix("headwise: ").strip()
        == ("unknown key train.stpes; did you mean train.steps?")
    )


def test_the_batch_follows_fewer_samples_as_on_the_command_line() -> None:
    assert MINIMAL.changed({"train.samples": 600}).train.batch == 600
    assert MINIMAL.changed({"train": {"samples": 600}}).train.batch == 600
    assert MINIMAL.train.changed({"samples": 600}).batch == 600
    assert MINIMAL.changed({"train.samples": 600, "train.batch": 50}).train.batch == 50
    assert MINIMAL.changed({"train.samples": 27000}).train.batch == MINIMAL.train.batch


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("steps", "train.steps"),
        ("stpes", "train.steps"),
        ("m", "task.m"),
        ("trian.lr", "train.lr"),
        ("x.y.dense", "measure.at.dense"),
    ],
)
def test_the_nearest_key_is_offered(key: str, meant: str) -> None:
    assert sentence({key: 3}).startswith(f"unknown key {key}; did you mean ")
    assert sentence({key: 3}).endswith(f"{meant}?")


def test_mistakes_that_only_python_can_make() -> None:
    assert sentence({"train": 5}) == "train has keys of its own; give those, such as train.steps"
    assert sentence({"train.steps": 5, "train": {"steps": 6}}) == "train.steps is given twice; give it once"
    assert "experiment('minimal', 'text')" in sentence({"preset": "text"})
    with pytest.raises(ConfigError, match="given by key"):
        MINIMAL.changed([("train.steps", 5)])  # type: ignore[arg-type]


def test_what_pydantic_copies_unchecked_is_checked_by_whoever_takes_it() -> None:
    """`model_copy` and `model_construct` accept anything; no config that holds the result does."""
    misspelt = MINIMAL.train.model_copy(update={"stpes": 1000})
    negative = TrainConfig.model_construct(lr=-5)
    for broken in (misspelt, negative):
        with pytest.raises(ConfigError, match=r"^(unknown key train.stpes; did you mean train.steps\?|train.lr: )"):
            MINIMAL.changed({"train": broken})
        with pytest.raises(ConfigError, match=r"train\.(stpes|lr)"):
            RunConfig(experiment="mine", preset="text", train=broken)
        with pytest.raises(ConfigError, match=r"train\.(stpes|lr)"):
            MINIMAL.model_copy(update={"train": broken}).changed({"train.steps": 3})
        with pytest.raises(ConfigError, match=r"train\.(stpes|lr)"):
            validated(RunConfig, MINIMAL.model_copy(update={"train": broken}))


def test_nothing_else_copies_a_config_unchecked() -> None:
    root = Path(__file__).parents[2]
    files = [
        *root.glob("*.md"),
        *(f for folder in ("src", "docs", "scripts", "examples") for f in (root / folder).rglob("*")),
    ]
    texts = {file: file.read_text(encoding="utf-8") for file in files if file.suffix in (".py", ".md", ".ipynb")}
    assert len(texts) > 100
    assert [file.name for file, text in texts.items() if "model_copy(" in text] == []


def test_a_constructor_raises_the_same_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^unknown key stpes; did you mean steps\?$"):
        TrainConfig(stpes=3)  # type: ignore[call-arg]
    with pytest.raises(ConfigError, match=r"^lr: Input should be greater than 0 \(got -5\)$"):
        TrainConfig(lr=-5)
    with pytest.raises(ConfigError, match=r"^train.lr: Input should be greater than 0 \(got -5\)$"):
        RunConfig(experiment="mine", preset="text", train={"lr": -5})  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^preset is missing; give it a value$"):
        RunConfig(experiment="mine")  # type: ignore[call-arg]


@settings(deadline=None)
@given(st.recursive(st.integers(), lambda inner: st.dictionaries(names, inner, max_size=4), max_leaves=12))
def test_flatten_names_every_value_by_its_path(content: Any) -> None:
    assume(isinstance(content, dict))
    flat = flatten(content)
    for key, value in flat.items():
        found = content
        for part in key.split("."):
            found = found[part]
        assert found == value
        assert value == {} or not isinstance(value, Mapping)

    def count(part: Any) -> int:
        return sum(map(count, part.values())) if isinstance(part, dict) and part else 1

    assert len(flat) == (count(content) if content else 0)
