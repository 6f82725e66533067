"""Levels are read where the figures show them."""

from __future__ import annotations

import pytest
import xarray as xr

from headwise.paper.levels import excess_at, excess_when_nearest, nearest, whole_loss

TEACHER = 0.25


@pytest.fixture
def run() -> xr.Dataset:
    """Five evaluations whose distances to the three predictors are smallest at steps 10, 20 and 40."""
    distances = [[3, 3, 3], [1, 2, 2.5], [1.5, 0.5, 1], [2, 0.6, 0.4], [2.5, 0.7, 0.1]]
    excess = [3.5, 2.0, 0.8, 0.3, 0.1]
    return xr.Dataset(
        {
            "kl": (("step", "predictor"), distances),
            "excess_loss": ("step", excess),
            "loss": (("step", "split"), [[x + TEACHER + 1, x + TEACHER] for x in excess]),
        },
        coords={
            "step": [0, 10, 20, 30, 40],
            "predictor": ["prefix_1", "prefix_2", "prefix_3"],
            "split": ["train", "test"],
        },
        attrs={"teacher_loss": TEACHER},
    )


def test_distances_at_their_minimum_and_end(run: xr.Dataset) -> None:
    assert [nearest(k, "lowest")(run) for k in (1, 2, 3)] == [1.0, 0.5, 0.1]
    assert [nearest(k, "final")(run) for k in (1, 2, 3)] == [2.5, 0.7, 0.1]


def test_the_level_of_a_stage_is_where_its_predictor_is_nearest(run: xr.Dataset) -> None:
    assert [excess_when_nearest(k)(run) for k in (1, 2, 3)] == [2.0, 0.8, 0.1]


def test_the_whole_loss_is_the_test_loss(run: xr.Dataset) -> None:
    assert whole_loss(excess_at(-1))(run) == pytest.approx(float(run["loss"].sel(step=40, split="test")))
    assert whole_loss(excess_when_nearest(2))(run) == pytest.approx(float(run["loss"].sel(step=20, split="test")))


def test_a_distance_that_was_not_recorded_has_no_level(run: xr.Dataset) -> None:
    without = run.drop_vars("kl")
    assert nearest(1, "lowest")(without) is None
    assert whole_loss(excess_when_nearest(1))(without) is None
