"""Which path computes a model: a fast one only where every setting of the model is on the list of what it handles."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import pytest
from path_grid import GRID, MINIMAL, PUBLISHED, TEXT, random_decoder
from pydantic import Field

from headwise.core.config import Switch
from headwise.core.errors import ConfigError
from headwise.core.keys import flatten, known_keys
from headwise.model import kernel
from headwise.model.compute import ComputeConfig
from headwise.model.config import DropoutConfig, ModelConfig
from headwise.model.handled import HANDLED, not_handled
from headwise.model.kernel_engine import KernelEngine
from headwise.model.paths import choose, make_engine
from headwise.model.tabulated import TabulatedEngine

needs_kernel = pytest.mark.skipif(kernel.missing() is not None, reason=str(kernel.missing()))


class WithSwitch(ModelConfig):
    """A model as it looks after somebody added a switch, here one that turns attention scores around."""

    reversed_scores: Switch = "off"


class MoreDropout(DropoutConfig):
    scores: float = 0.0


class WithNestedSetting(ModelConfig):
    """The same for a setting inside a group of settings."""

    dropout: MoreDropout = MoreDropout()


class WithValue(ModelConfig):
    """A known switch with one value more."""

    positions: Annotated[Literal["one_hot", "learned", "sinusoidal", "relative", "rotary"], Field()] = "one_hot"


def test_the_list_names_every_setting_and_no_other() -> None:
    """When this fails a setting was added: leave it out while only the reference computes it, else add its line."""
    assert set(HANDLED) == set(known_keys(ModelConfig))


@pytest.mark.parametrize("path", ["auto", "torch", "kernel"])
@pytest.mark.parametrize(
    ("model", "named"),
    [
        (WithSwitch(), "model.reversed_scores = off"),
        (WithSwitch(reversed_scores="on"), "model.reversed_scores = on"),
        (WithNestedSetting(), "model.dropout.scores = 0.0"),
        (WithNestedSetting(dropout=MoreDropout(scores=0.1)), "model.dropout.scores = 0.1"),
        (WithValue(positions="rotary"), "model.positions = rotary"),
    ],
)
def test_a_setting_added_later_goes_to_the_reference(model: ModelConfig, named: str, path: str) -> None:
    choice = choose(model, ComputeConfig.model_validate({"path": path}))
    assert choice.path == "reference"
    assert named in choice.why


def test_values_known_before_stay_where_they_were() -> None:
    assert choose(WithValue(positions="learned"), ComputeConfig(path="torch")).path == "torch"


def test_two_blocks_and_a_norm_before_attention_have_fast_paths() -> None:
    for config in (MINIMAL.changed({"blocks": 2}), TEXT.changed({"norm": "pre"})):
        assert choose(config, ComputeConfig(path="torch")).path == "torch"
        decoder = random_decoder(config)
        assert make_engine(decoder, ComputeConfig(path="torch"), dropout_seed=0).name == "torch"
        if kernel.missing() is None:
            assert choose(config, ComputeConfig()).path == "kernel"
            assert make_engine(decoder.float(), ComputeConfig(), dropout_seed=0).name == "kernel"


@pytest.mark.parametrize("engine", [TabulatedEngine, KernelEngine])
def test_a_fast_path_refuses_what_it_does_not_handle(engine: type[TabulatedEngine | KernelEngine]) -> None:
    decoder = random_decoder(MINIMAL)
    decoder.config = WithSwitch()
    with pytest.raises(ValueError, match="reversed_scores"):
        engine(decoder, dropout_seed=0, chunk=50)


def test_every_value_on_the_list_is_compared_with_the_reference() -> None:
    """What the list claims is only worth something where the contract of engines tries it."""
    tried: dict[str, set[object]] = {}
    for config in GRID.values():
        assert not_handled(config) is None
        for key, value in flatten(vars(config)).items():
            tried.setdefault(key, set()).add(value)
    for name, field in ModelConfig.model_fields.items():
        values = get_args(field.annotation)
        if name.startswith("init") or not all(isinstance(value, str) for value in values) or not values:
            continue
        claimed = {value for value in values if HANDLED[name].accepts(value)}
        assert claimed <= tried[name], name
    for key in ("context", "window", "mlp", *(key for key in HANDLED if key.startswith("dropout."))):
        assert any(tried[key]), key
        assert not all(tried[key]), key


def test_asked_for_and_explained() -> None:
    assert choose(MINIMAL, ComputeConfig(path="torch")) == ("torch", "asked for")
    assert choose(MINIMAL, ComputeConfig(path="reference")) == ("reference", "asked for")


@needs_kernel
def test_the_kernel_is_taken_where_it_can_be() -> None:
    for config in (MINIMAL, TEXT, PUBLISHED):
        choice = choose(config, ComputeConfig())
        assert choice.path == "kernel"
        assert kernel.level() in choice.why
    for outside, named in (({"dtype": "float64"}, "compute.dtype = float64"), ({"device": "cuda"}, "device = cuda")):
        choice = choose(MINIMAL, ComputeConfig.model_validate(outside))
        assert choice.path == "torch"
        assert named in choice.why
        with pytest.raises(ConfigError, match=named):
            choose(MINIMAL, ComputeConfig.model_validate({**outside, "path": "kernel"}))
