"""Flows as trajectories: names, sizes, sums that must hold, grids and systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headwise.core.config import validated
from headwise.core.trajectory import attribute
from headwise.flow.config import FlowConfig
from headwise.flow.overlay import overlay
from headwise.flow.presets import published_flow, text_flow
from headwise.flow.simulate import simulate, solve_flow, summarise, to_trajectory
from headwise.flow.stages import stage_times

VARIABLES = {
    "excess_loss", "loss", "loss_part", "attention_by_lag", "attention_by_group", "attention_entropy",
    "value_alignment", "value_cosine", "value_coefficient", "head_overlap",
}  # fmt: skip


def test_the_trajectory_of_start_b() -> None:
    flow = solve_flow(FlowConfig(start="B"))
    trajectory = to_trajectory(flow)
    assert set(trajectory.data_vars) == VARIABLES
    assert attribute(trajectory, "source") == "flow"
    assert attribute(trajectory, "groups") == [[1], [2], [3]]
    assert attribute(trajectory, "alpha") == [[1.0], [1.0], [1.0]]
    step = trajectory["step"].values
    assert (step[0], step[-1], len(step)) == (0.0, 3000.0, 500)
    for t in stage_times(flow.target, flow.heads_at, flow.solution):
        assert t is not None
        assert np.sum(np.abs(step - t) < 0.02 * t) >= 3, "too few points around a stage"
    np.testing.assert_allclose(
        trajectory["loss_part"].sum(("feature", "position")), trajectory["excess_loss"], atol=1e-12
    )
    np.testing.assert_allclose(trajectory["attention_by_lag"].sum("lag"), 1, atol=1e-12)
    np.testing.assert_allclose(
        trajectory["attention_by_group"].values, trajectory["attention_by_lag"].values[..., :3], atol=1e-15
    )
    np.testing.assert_allclose(trajectory["attention_entropy"].values[0], np.log(40), atol=1e-5)
    assert np.abs(trajectory["value_cosine"]).max() <= 1 + 1e-12
    overlap = trajectory["head_overlap"].values[:, 0]
    np.testing.assert_allclose(overlap[:, range(3), range(3)], 1, atol=1e-12)
    assert overlap[-1, 0, 1] < 0.6


@pytest.mark.parametrize("grid", ["adaptive", "linear", "log"])
def test_grids(grid: str) -> None:
    step = simulate(validated(FlowConfig, {"grid": grid, "points": 60, "t_end": 200.0}))["step"].values
    assert step[0] == 0
    assert step[-1] == 200
    assert (np.diff(step) > 0).all()
    assert len(step) == 60


@pytest.mark.parametrize(
    "values",
    [
        {"system": "coupled"},
        {"system": "cooperative"},
        {"system": "two-scale"},
        {"system": "nth-head", "nth": 3},
        {"system": "two-group"},
        {"system": "two-group", "values": "gaussian", "d": 4},
        {"system": "coupled", "values": "gaussian", "d": 4},
        {"system": "two-group", "method": "euler", "euler_step": 0.02},
        {"chart": "s"},
        {"metric": "plain"},
        {"state": "full", "d": 4},
        {"heads": 5, "values": "gaussian", "features": "haar", "d": 6},
        {"features": "correlated", "correlation": 0.3},
        {"groups": ((1, 2), (5, 9), (4,)), "alpha": ((0.7, 0.3), (0.5, 0.5), (1.0,))},
        {"method": "euler", "metric": "plain", "noise": "s-std", "euler_step": 0.02},
        {"h": 1},
    ],
    ids=str,
)
def test_every_kind_of_flow_gives_a_whole_trajectory(values: dict[str, Any]) -> None:
    config = validated(FlowConfig, {**values, "t_end": 120.0, "points": 40})
    flow = solve_flow(config, 1)
    trajectory = to_trajectory(flow)
    heads = config.heads or config.h
    assert set(trajectory.data_vars) == VARIABLES
    assert trajectory.sizes["head"] == heads
    assert all(np.isfinite(trajectory[name]).all() for name in VARIABLES)
    np.testing.assert_allclose(trajectory["attention_by_lag"].sum("lag"), 1, atol=1e-8)
    loss = trajectory["excess_loss"].values
    assert np.diff(loss).max() <= 1e-8
    summary = summarise(flow, 1)
    assert len(summary["stage_times"]) == config.h


def test_full_state_and_reduction_give_one_trajectory() -> None:
    config = FlowConfig(
        d=5, values="gaussian", features="haar", t_end=60.0, points=30, grid="linear", rtol=1e-10, atol=1e-13
    )
    a, b = simulate(config, 2), simulate(config.changed({"state": "full"}), 2)
    for name in VARIABLES:
        np.testing.assert_allclose(a[name], b[name], atol=1e-7, err_msg=name)


def test_the_two_readings_of_the_paper() -> None:
    """The text's noise reaches stage 2 early; the published figure's stages are near 5, 50 and 230."""
    text = solve_flow(text_flow().changed({"t_end": 150.0}), 0)
    t1, t2, _ = stage_times(text.target, text.heads_at, text.solution)
    assert t1 == pytest.approx(21, abs=1.5)
    assert t2 is not None
    assert t2 < 100
    published = solve_flow(published_flow().changed({"t_end": 90.0, "euler_step": 0.02}), 0)
    t1, t2, _ = stage_times(published.target, published.heads_at, published.solution)
    assert t1 == pytest.approx(5, abs=1)
    assert t2 == pytest.approx(60, abs=20)


def test_seeds_differ_and_repeat() -> None:
    config = FlowConfig(t_end=30.0, points=20, grid="linear")
    one, again, other = (simulate(config, seed)["attention_by_lag"].values for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-6


def test_theory_over_simulation() -> None:
    """Freezing the ensemble misses by about 0.6 in attention; the two-group model follows."""
    flow = solve_flow(FlowConfig(t_end=400.0), 1)
    printed = overlay(flow, stage=2, start=25.0, end=300.0, theory="printed")
    grouped = overlay(flow, stage=2, start=25.0, end=300.0, theory="two-group")
    assert printed is not None
    assert grouped is not None
    assert printed.attention_deviation > 0.5
    assert printed.value_deviation > 1.0
    assert grouped.attention_deviation < 0.1 * printed.attention_deviation
    assert grouped.value_deviation < 0.1 * printed.value_deviation
    assert overlay(flow, stage=3, start=300.0, end=400.0, theory="printed") is None


def test_the_published_figures_own_noise_and_times() -> None:
    """Against explicit Euler steps written out here, and against the times read off the figure by eye: 5, 50, 230."""
    config = published_flow().changed({"noise_draw": "figure"})
    heads, positions, kept = 3, 40, np.arange(3)
    strengths = np.array([1.7**2, 1.7, 1.0])
    target = np.zeros((heads, positions))
    target[kept, kept] = strengths
    s = 1 / positions + 1e-6 * np.random.default_rng(0).normal(size=(heads, positions))
    s /= s.sum(1, keepdims=True)
    values = np.zeros((heads, heads))
    reached: dict[int, float] = {}
    for step in range(50_000):
        rest = target - values.T @ s
        for k in range(heads):
            if k not in reached and abs(rest[k, k]) < 0.5 * strengths[k]:
                reached[k] = 0.005 * step
        pull = values @ rest
        values = values + 0.005 * s @ rest.T
        s = np.clip(s + 0.005 * s * (pull - (s * pull).sum(1, keepdims=True)), 1e-12, None)
        s /= s.sum(1, keepdims=True)
    flow = solve_flow(config, seed=7)
    times = stage_times(flow.target, flow.heads_at, flow.solution)
    assert times == pytest.approx([reached[k] for k in range(heads)], rel=0.07)
    assert times == pytest.approx([5, 50, 230], rel=0.12)
    assert "noise_draw" not in published_flow().model_dump(), "flows stored before the key existed keep their names"
    assert validated(FlowConfig, config.model_dump()) == config
