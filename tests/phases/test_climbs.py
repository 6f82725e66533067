"""Where the loss climbs: built curves whose climbs are known, and a training that is started over."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headwise.phases.climbs import Climb, find_climbs
from headwise.phases.detection import detect
from headwise.phases.loss_source import loss_source


def run_of(curve: np.ndarray, *, every: float = 10.0) -> xr.Dataset:
    steps = np.arange(len(curve)) * every
    return xr.Dataset({"loss": (("step", "split"), curve[:, None])}, coords={"step": steps, "split": ["look"]})


def climbs_of(curve: np.ndarray) -> list[tuple[float, float | None]]:
    source = loss_source(run_of(curve))
    assert not isinstance(source, str)
    return [(climb.start, climb.back) for climb in find_climbs(source)]


FALL = 3.0 * np.exp(-np.arange(40) / 8) + 0.5


def test_a_training_that_is_started_over() -> None:
    report = detect(run_of(np.concatenate([FALL, FALL])))
    (climb,) = report.climbs
    assert (climb.start, climb.top) == (390, 400)
    assert climb.low == pytest.approx(FALL[-1], rel=1e-6)
    assert climb.high == pytest.approx(FALL[0], rel=1e-6)
    assert climb.interval == (390, 400)
    assert climb.back is not None
    assert FALL[round(climb.back / 10) - 40] <= FALL[-1] + 0.1 * (climb.high - climb.low)
    assert "the loss climbs from 0.523 to" in str(report)


def test_a_loss_that_only_falls_or_rests_has_none() -> None:
    assert climbs_of(FALL) == []
    assert climbs_of(np.concatenate([FALL, np.full(40, FALL[-1])])) == []


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_no_climb(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(0, 0.05, 200)
    assert climbs_of(np.full(200, 2.0) + noise) == []
    assert climbs_of(np.interp(np.arange(200), np.arange(0, 200, 5), FALL) + noise) == []


def test_a_spike_of_one_look_is_no_climb() -> None:
    curve = FALL.copy()
    curve[20] += 5
    assert climbs_of(curve) == []


UP = np.array([*np.linspace(5, 1, 30), 3, 3.1, 3.2, 3.3, 3.2, *[2.9, 2.91] * 5])
"""A loss that falls to 1 and climbs to about 3, where it stays; the climb begins after look 29."""


def only_climb(curve: np.ndarray) -> Climb:
    source = loss_source(run_of(curve))
    assert not isinstance(source, str)
    (climb,) = find_climbs(source)
    return climb


@pytest.mark.parametrize("look", range(30, len(UP) - 1))
@pytest.mark.parametrize("size", [17.0, 3.0, -17.0])
def test_a_spike_in_a_climb_is_not_its_height(look: int, size: float) -> None:
    """Found without spikes, it was told with what was measured at its top: "climbs from 1 to 20"."""
    curve = UP.copy()
    curve[look] += size
    climb = only_climb(curve)
    assert climb.low == pytest.approx(1)
    assert climb.high == pytest.approx(3.2, abs=0.15)
    assert climb.start in (290, 300), "a look later where the spike hides that the loss has climbed"
    assert climb.top != 10 * look
    assert climb.back is None


def test_a_spike_before_a_climb_is_not_where_it_begins() -> None:
    curve = np.insert(UP, 30, -5.0)
    climb = only_climb(curve)
    assert (climb.start, climb.low) == (290, pytest.approx(1))
    assert climb.high == pytest.approx(3.2, abs=0.1)


def test_several_spikes_side_by_side() -> None:
    assert only_climb(np.insert(UP, 32, [20.0, -5.0])).high == pytest.approx(3.2, abs=0.2)
    assert only_climb(np.insert(UP, 32, [20.0, 3.1, 15.0])).high == pytest.approx(3.2, abs=0.2)
    assert only_climb(np.insert(UP, 31, [20.0, 3.1, 15.0])).high == pytest.approx(3.2, abs=0.2)


@pytest.mark.parametrize("e_folding", [2, 5, 20])
@pytest.mark.parametrize("looks", [6, 40])
def test_the_first_look_after_a_training_is_started_over_is_no_spike(e_folding: int, looks: int) -> None:
    """It is higher than both looks beside it, as a spike is, but by less than the loss has jumped."""
    fall = 3.0 * np.exp(-np.arange(looks) / e_folding) + 0.5
    climb = only_climb(np.concatenate([fall, fall]))
    assert (climb.low, climb.high) == pytest.approx((fall[-1], fall[0]))
    assert climb.top == 10 * looks


def test_a_peak_is_as_high_as_it_was_measured() -> None:
    """It lasts a single look, but does not stand far above the looks beside it."""
    assert only_climb(np.concatenate([FALL, FALL[-1] + [1.0, 2.5, 4.0, 3.2, 2.0, 1.0]])).high == FALL[-1] + 4.0


def test_overfitting_is_a_climb_that_does_not_come_back() -> None:
    ((start, back),) = climbs_of(np.concatenate([FALL, FALL[-1] + np.linspace(0, 1, 40)]))
    assert start in (390, 400)
    assert back is None


def test_a_loss_that_never_fell_climbs() -> None:
    ((start, back),) = climbs_of(np.linspace(2.0, 2.6, 50))
    assert (start, back) == (0, None)


def test_each_climb_is_told_once() -> None:
    assert [start for start, _ in climbs_of(np.concatenate([FALL, FALL - 0.1, FALL - 0.2]))] == [390, 790]


def test_scaling_time_and_loss_moves_nothing() -> None:
    curve = np.concatenate([FALL, FALL])
    plain, scaled = loss_source(run_of(curve)), loss_source(run_of(7 * curve, every=1.0))
    assert not isinstance(plain, str)
    assert not isinstance(scaled, str)
    (one,), (other,) = find_climbs(plain), find_climbs(scaled)
    assert (other.start, other.top, other.back) == (one.start / 10, one.top / 10, (one.back or 0) / 10)
    assert other.high == pytest.approx(7 * one.high)


def test_json_and_table_have_it() -> None:
    report = detect(run_of(np.concatenate([FALL, FALL])))
    (climb,) = report.to_json()["climbs"]
    assert climb["interval"] == [390, 400]
    rows = report.to_frame()
    assert rows[rows.kind == "climb"][["step", "end"]].values.tolist() == [[390, 400]]
