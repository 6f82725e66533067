"""Every experiment is a valid, complete config; model_copy does not validate, so this does."""

from __future__ import annotations

import pytest

from headwise.study.config import Preset, RunConfig, config_hash
from headwise.study.experiments import EXPERIMENTS


@pytest.mark.parametrize("preset", ["published", "text"])
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiment_is_valid_and_documented(name: str, preset: Preset) -> None:
    config = EXPERIMENTS[name](preset)
    assert RunConfig.model_validate(config.model_dump()) == config
    assert config.preset == preset
    assert EXPERIMENTS[name].__doc__


@pytest.mark.parametrize("preset", ["published", "text"])
def test_a_variant_differs_from_what_it_varies(preset: Preset) -> None:
    """Two names for one config would hide a change that was never made; the text has no own run for some."""
    shared = ("head-dynamics", "small-ratio-1", "small-ratio-1.3", "small-ratio-1.5") if preset == "text" else ()
    names = [name for name in EXPERIMENTS if name not in shared]
    hashes = [config_hash(EXPERIMENTS[name](preset)) for name in names]
    assert len(set(hashes)) == len(hashes)
