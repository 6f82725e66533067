"""Levels are read where the figures show them."""

from __future__ import annotations

import pytest
import xarray as xr

from headwise.paper.levels import (
    DRAWN_TO,
    LEVELS,
    as_drawn,
    begins_to_rise,
    excess_when_nearest,
    final_excess,
    first_excess,
    nearest,
    whole_loss,
)

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


def test_a_stage_ends_where_the_distance_to_its_predictor_leaves_its_smallest_for_good(run: xr.Dataset) -> None:
    """By 0.03 nats, which the eye can read: 0.03 / 0.5 of the way from step 10 to 20, and 0.03 / 0.1 from 20 to 30."""
    assert begins_to_rise(1)(run) == pytest.approx(10.6)
    assert begins_to_rise(2)(run) == pytest.approx(23.0)
    assert begins_to_rise(3)(run) is None, "it is still falling when the run ends"
    rises_twice = run.copy(deep=True)
    rises_twice["kl"][{"step": 3, "predictor": 0}] = 1.01
    assert begins_to_rise(1)(rises_twice) == pytest.approx(30 + 10 * 0.02 / 1.49)


def test_the_whole_loss_is_the_test_loss(run: xr.Dataset) -> None:
    assert whole_loss(final_excess)(run) == pytest.approx(float(run["loss"].sel(step=40, split="test")))
    assert whole_loss(excess_when_nearest(2))(run) == pytest.approx(float(run["loss"].sel(step=20, split="test")))


def test_a_distance_that_was_not_recorded_has_no_level(run: xr.Dataset) -> None:
    without = run.drop_vars("kl")
    assert nearest(1, "lowest")(without) is None
    assert whole_loss(excess_when_nearest(1))(without) is None


def test_the_figures_begin_after_one_step_and_end_at_step_1000(run: xr.Dataset) -> None:
    assert first_excess(run) is None
    assert first_excess(run.assign_coords(step=[0, 1, 2, 3, 4])) == 2.0
    longer = run.assign_coords(step=[0, 500, DRAWN_TO, 1500, 2000])
    minimal, sgd = LEVELS["minimal"][0], LEVELS["sgd"][0]
    assert final_excess(as_drawn(minimal, longer)) == 0.8
    assert final_excess(as_drawn(sgd, longer)) == 0.1


def test_a_level_matches_within_five_hundredths_or_four_percent_and_a_boundary_within_twelve() -> None:
    low, high = (next(one for one in LEVELS["minimal"] if one.published == value) for value in (0.09, 2.78))
    step = next(one for one in LEVELS["minimal"] if one.published == 330)
    assert [low.within(value) for value in (0.039, 0.041, 0.139, 0.141)] == [False, True, True, False]
    assert [high.within(value) for value in (2.66, 2.67, 2.89, 2.90)] == [False, True, True, False]
    assert [step.within(value) for value in (289, 291, 369, 371)] == [False, True, True, False]
