"""Every experiment is a valid, complete config, and a variant differs from what it varies."""

from __future__ import annotations

import pytest

from headwise.study.config import Preset, RunConfig, config_hash, scientific_content, window_config
from headwise.study.experiments import EXPERIMENTS, experiment


@pytest.mark.parametrize("preset", ["published", "redrawn", "text"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_is_valid_and_documented(name: str, preset: Preset) -> None:
    config = EXPERIMENTS[name](preset)
    assert RunConfig.model_validate(config.model_dump()) == config
    assert config.preset == preset
    assert EXPERIMENTS[name].__doc__


@pytest.mark.parametrize("preset", ["published", "redrawn", "text"])
def test_a_variant_differs_from_what_it_varies(preset: Preset) -> None:
    """Two names for one config would hide a change that was never made; the text has no own run for some."""
    shared = ("head-dynamics", "small-ratio-1", "small-ratio-1.3", "small-ratio-1.5") if preset == "text" else ()
    names = [name for name in EXPERIMENTS if name not in shared]
    hashes = [config_hash(EXPERIMENTS[name](preset)) for name in names]
    assert len(set(hashes)) == len(hashes)


def test_restricted_models_may_have_data_of_their_own() -> None:
    """Their weights come from more sequences, their targets are the same, and an unset key names no other run."""
    own, ample = EXPERIMENTS["samples-600"]("published"), EXPERIMENTS["samples-600-ample"]("published")
    assert window_config(own, 2).train == own.train
    restricted = window_config(ample, 2)
    assert (restricted.train.samples, restricted.train.batch) == (9000, 600)
    assert restricted.task == ample.task
    assert restricted.measure.window_samples is None
    assert config_hash(own) != config_hash(ample)
    assert "window_samples" not in scientific_content(own)["measure"]


@pytest.mark.parametrize("preset", ["published", "redrawn", "text"])
def test_sgd_leaves_out_the_weight_decay_of_adamw(preset: Preset) -> None:
    assert experiment("sgd", preset).train.weight_decay == 0.0
    assert experiment("full", preset).train.weight_decay > 0.0
