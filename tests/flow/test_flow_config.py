"""Bad flows are refused in one line that names the key."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from headwise.core.config import validated
from headwise.core.errors import ConfigError, RunFailed
from headwise.flow.config import FlowConfig, noise_deviation
from headwise.flow.ensemble import ensemble
from headwise.flow.reduction import State, System
from headwise.flow.simulate import simulate, solve_flow
from headwise.flow.solve import integrate
from headwise.flow.start import initial_logits
from headwise.flow.systems import all_heads
from headwise.flow.target import Target, singleton_target


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"T": 2}, ("T = 2", "h = 3")),
        ({"strengths": (2.0, 0.0, 1.0)}, ("strengths", "positive")),
        ({"strengths": (2.0, 1.0, -1.0)}, ("strengths", "positive")),
        ({"strengths": (1.0, 2.0, 3.0)}, ("strengths", "not increase")),
        ({"strengths": (2.0, 1.0)}, ("strengths", "h = 3")),
        ({"strengths": (2.0, math.nan, 1.0)}, ("strengths",)),
        ({"m": math.nan}, ("m",)),
        ({"m": 0.0}, ("m",)),
        ({"m": -1.7}, ("m",)),
        ({"m": 1e300}, ("strengths", "finite")),
        ({"t_end": math.inf}, ("t_end",)),
        ({"noise": "s-std", "noise_scale": 0.03}, ("noise_scale", "1/T")),
        ({"noise": "s-cov", "noise_scale": 0.01}, ("noise_scale", "1/T")),
        ({"noise_scale": math.nan}, ("noise_scale",)),
        ({"noise_scale": 1e-11}, ("atol",)),
        ({"groups": ((1,), (2,), (41,))}, ("groups", "41", "1..40")),
        ({"groups": ((1, 2), (2, 3), (4,))}, ("overlap", "position 2")),
        ({"groups": ((1,), (2,))}, ("groups", "h = 3")),
        ({"groups": ((1, 2), (3,), (4,)), "alpha": ((0.5,), (1.0,), (1.0,))}, ("alpha", "I(1)")),
        ({"groups": ((1, 2), (3,), (4,)), "alpha": ((0.5, -0.5), (1.0,), (1.0,))}, ("alpha", "positive")),
        ({"features": "correlated", "correlation": -0.6}, ("correlation",)),
        ({"features": "frobenius", "d": 1}, ("orthogonal",)),
        ({"system": "cooperative", "h": 1}, ("cooperative", "h")),
        ({"system": "nth-head", "nth": 4}, ("nth",)),
        ({"system": "two-group", "t_end": 20.0}, ("boundary",)),
        ({"system": "two-scale", "state": "full"}, ("state",)),
        ({"strenghts": (1.0,)}, ("unknown key strenghts", "strengths")),
    ],
)
def test_refused_in_one_line(values: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        validated(FlowConfig, values)
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_noise_that_draws_negative_attention_is_refused() -> None:
    config = FlowConfig(noise="s-std", noise_scale=0.02)
    with pytest.raises(ConfigError, match="noise_scale"):
        initial_logits(config, 0)


def test_large_noise_on_logits_is_allowed() -> None:
    flow = solve_flow(FlowConfig(noise_scale=1.0, t_end=50.0))
    s = flow.heads(np.array([0.0, 50.0])).attention
    np.testing.assert_allclose(s.sum(-1), 1, atol=1e-12)


@pytest.mark.parametrize(("kind", "deviation"), [("logit", 1e-3), ("s-std", 1e-6), ("s-cov", 1e-3), ("none", 0.0)])
def test_noise_readings(kind: str, deviation: float) -> None:
    config = validated(FlowConfig, {"noise": kind})
    assert noise_deviation(config) == pytest.approx(deviation)
    q = initial_logits(config, 3)
    np.testing.assert_allclose(q.mean(-1), 0, atol=1e-15)
    s = np.exp(q) / np.exp(q).sum(-1, keepdims=True)
    spread = np.std(q) if kind == "logit" else np.std(s)
    assert spread == pytest.approx(deviation, rel=0.2, abs=1e-15)


def test_equal_strengths_are_a_flow_like_any_other() -> None:
    flow = solve_flow(FlowConfig(m=1.0, t_end=400.0))
    loss = flow.heads(np.linspace(0, 400, 50)).loss
    assert loss[0] == pytest.approx(1.5, rel=1e-3)
    assert np.diff(loss).max() <= 1e-9
    assert loss[-1] < 0.05


def test_exactly_equal_heads_and_positions_learn_one_feature_only() -> None:
    trajectory = simulate(FlowConfig(start="A", t_end=400.0, points=50))
    attention = trajectory["attention_by_lag"].values[:, 0]
    np.testing.assert_allclose(attention, attention[:, :1].repeat(3, axis=1), atol=1e-10)


def test_as_many_positions_as_features_is_allowed() -> None:
    assert simulate(FlowConfig(T=3, t_end=50.0, points=20)).sizes["lag"] == 3


def test_nan_in_a_hand_made_start_or_target_is_refused() -> None:
    target = singleton_target(np.array([2.0, 1.0]), 4)
    system = all_heads(target, 2)
    with pytest.raises(ConfigError, match="NaN"):
        integrate(
            system.field, system.pack(State(np.full((2, 2), np.nan), np.zeros((2, 4)))), t_end=1, rtol=1e-6, atol=1e-9
        )
    with pytest.raises(ConfigError, match="finite"):
        Target(np.array([1.0, np.nan]), np.eye(2, 4), np.eye(2))
    with pytest.raises(ConfigError, match="positive"):
        Target(np.array([1.0, 0.0]), np.eye(2, 4), np.eye(2))
    with pytest.raises(ConfigError, match="T = 1"):
        singleton_target(np.array([2.0, 1.0]), 1)
    with pytest.raises(ConfigError, match="at least one head"):
        System(target, np.ones(1), fixed=target.ideal_attention[:1])


def test_a_flow_that_diverges_says_so() -> None:
    with pytest.raises(RunFailed, match="euler_step"):
        simulate(FlowConfig(method="euler", euler_step=5.0, b0=50.0, t_end=500.0))


def test_an_ensemble_of_other_systems_is_refused() -> None:
    with pytest.raises(ConfigError, match="system = heads"):
        ensemble([(FlowConfig(system="coupled"), 0)])


def test_the_config_is_light() -> None:
    code = (
        "import sys, headwise.flow.config; "
        "sys.exit(any(m in sys.modules for m in ('torch', 'scipy', 'xarray', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
