"""Where the loss climbs: built curves whose climbs are known, and a training that is started over."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from headwise.phases.climbs import find_climbs
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
