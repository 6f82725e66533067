"""The function view where the nearest-by-KL rule fails, where a predictor is only grazed, and by family."""

from __future__ import annotations

import numpy as np
import pytest
from phase_examples import BOUNDARIES, ramp, three_stage_run

from headwise.phases.config import DEFAULT
from headwise.phases.function import choose_family, read_function

PREFIX = ["prefix_1", "prefix_2", "prefix_3"]


def test_dips_are_found_where_the_nearest_predictor_misleads() -> None:
    run = three_stage_run()
    kl, steps = run["kl"].values, run["step"].values
    assert (kl[:, 1] < kl[:, 0]).all()
    view = read_function(steps, kl, PREFIX, DEFAULT)
    assert [stage.label for stage in view.stages] == PREFIX
    assert view.boundaries == pytest.approx(BOUNDARIES, abs=15)
    assert view.order == "holds"


def test_grazing_does_not_count() -> None:
    steps = np.linspace(0, 1000, 201)
    moved = ramp(steps, 400, 80)
    position = np.stack([np.ones_like(moved), moved, moved], axis=1)
    targets = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    kl = 0.05 + ((position[:, None] - targets) ** 2).sum(-1) + 2 * np.exp(-steps / 15)[:, None]
    assert kl[:, 1].min() < 0.6 * min(kl[40, 1], kl[-1, 1])
    view = read_function(steps, kl, PREFIX, DEFAULT)
    assert [stage.label for stage in view.stages] == ["prefix_1", "prefix_3"]
    assert view.order == "does not apply"
    assert "prefix_2" in view.reason


def test_another_order_does_not_apply() -> None:
    steps = np.linspace(0, 1000, 201)
    first, second = ramp(steps, 300), ramp(steps, 600)
    position = np.stack([first, second, np.ones_like(steps)], axis=1)
    targets = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    kl = 0.05 + ((position[:, None] - targets) ** 2).sum(-1)
    view = read_function(steps, kl, PREFIX, DEFAULT)
    assert view.order == "does not apply"


def test_a_run_that_ends_early_keeps_the_order_so_far() -> None:
    run = three_stage_run().sel(step=slice(0, 600))
    view = read_function(run["step"].values, run["kl"].values, PREFIX, DEFAULT)
    assert [stage.label for stage in view.stages] == ["prefix_1", "prefix_2"]
    assert view.order == "holds"
    assert "prefix_2, where the run ends" in view.reason


def test_families() -> None:
    assert choose_family(["prefix_1", "prefix_2", "window_2", "window_4"]) == ["prefix_1", "prefix_2"]
    assert choose_family(["prefix_2", "prefix_10", "prefix_1"]) == ["prefix_1", "prefix_2", "prefix_10"]
    assert choose_family(["prefix_1", "prefix_2", "prefix_3", "bayes_1", "bayes_2"]) == [
        "bayes_1",
        "bayes_2",
        "prefix_3",
    ]
    assert choose_family(["teacher", "other"]) == ["teacher", "other"]
