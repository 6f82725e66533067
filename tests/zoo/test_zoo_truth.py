"""Events are found in curves whose answer is known, with the interval in which they were made to happen."""

from __future__ import annotations

import numpy as np

from headwise.zoo.truth.boundary import find_boundaries
from headwise.zoo.truth.competition import find_competitions
from headwise.zoo.truth.event import Event
from headwise.zoo.truth.exchange import find_exchanges
from headwise.zoo.truth.lag import find_lags
from headwise.zoo.truth.rises import find_rises
from tests.zoo.made import STEPS, ramp, shares_of


def test_a_rise_lasts_from_a_fifth_to_four_fifths_of_its_way() -> None:
    (rise,) = find_rises(STEPS, ramp(100, 200), 0.3)
    assert rise.value == "clear"
    assert 110 <= rise.start <= 120
    assert 180 <= rise.end <= 190


def test_what_is_held_from_the_start_was_not_acquired() -> None:
    assert find_rises(STEPS, np.full(len(STEPS), 0.8), 0.3) == []


def test_a_low_or_a_short_rise_is_borderline_and_a_tiny_one_absent() -> None:
    assert [one.value for one in find_rises(STEPS, ramp(100, 200, high=0.2), 0.3)] == ["borderline"]
    short = np.where((STEPS >= 100) & (STEPS < 130), 0.8, 0.0)
    assert [one.value for one in find_rises(STEPS, short, 0.3)] == ["borderline"]
    assert find_rises(STEPS, ramp(100, 200, high=0.11), 0.3) == []


def test_two_separate_holds_are_two_acquisitions_and_a_dip_is_borderline() -> None:
    twice = np.where((STEPS >= 100) & (STEPS < 200) | (STEPS >= 300), 0.8, 0.0)
    assert [one.value for one in find_rises(STEPS, twice, 0.3)] == ["clear", "clear"]
    dip = ramp(50, 100) - 0.5 * np.exp(-(((STEPS - 250) / 20) ** 2))
    assert [one.value for one in find_rises(STEPS, dip, 0.3)] == ["clear", "borderline"]


def test_lags_name_head_and_lag() -> None:
    (event,) = find_lags(shares_of({(2, 3): ramp(100, 200)}, heads=2))
    assert (event.block, event.head, event.lag, event.clear) == (1, 2, 3, True)


def _exchanged(lost: float) -> list[Event]:
    old = ramp(20, 60) - ramp(200, 240, high=0.8 * lost)
    return find_exchanges(shares_of({(1, 1): old, (1, 4): ramp(200, 240, high=0.5)}, heads=1))


def test_leaving_adding_and_between() -> None:
    (left,) = _exchanged(0.7)
    assert (left.what, left.clear, left.old_lag, left.lag) == ("leaving", True, 1, 4)
    assert 190 <= left.start <= 220 <= left.end <= 250
    assert [(one.what, one.clear) for one in _exchanged(0.05)] == [("adding", True)]
    assert [(one.what, one.clear) for one in _exchanged(0.3)] == [("leaving", False), ("adding", False)]


def test_a_first_lag_is_neither_left_nor_added() -> None:
    assert find_exchanges(shares_of({(1, 1): ramp(20, 60)}, heads=1)) == []


def _competition(curves: dict[tuple[int, int], np.ndarray]) -> list[Event]:
    shares = shares_of(curves, heads=2)
    return find_competitions(shares, find_exchanges(shares))


def test_competition_needs_all_heads_and_somebody_who_leaves() -> None:
    stays, leaves = ramp(20, 60), ramp(20, 60) - ramp(200, 240)
    (clear,) = _competition({(1, 2): stays, (2, 2): leaves, (2, 5): ramp(200, 240)})
    assert (clear.clear, clear.lag) == (True, 2)
    assert 20 <= clear.start <= 60
    assert 180 <= clear.end <= 240
    assert [one.clear for one in _competition({(1, 2): stays, (2, 2): stays})] == [False]
    assert _competition({(1, 2): stays, (2, 5): stays}) == []


def _drops(*middles: float, height: float = 1.0, width: float = 5.0) -> np.ndarray:
    return sum((height / (1 + np.exp((STEPS - middle) / width)) for middle in middles), np.zeros(len(STEPS)))


def test_drops_between_flat_stretches_are_clear() -> None:
    events = find_boundaries(STEPS, _drops(120, 280))
    assert [one.clear for one in events] == [True, True]
    assert all(one.start <= middle <= one.end for one, middle in zip(events, (120, 280), strict=True))


def test_a_fall_at_the_start_is_borderline_and_a_slow_decline_or_a_rise_nothing() -> None:
    assert [one.clear for one in find_boundaries(STEPS, np.exp(-STEPS / 20))] == [False]
    assert find_boundaries(STEPS, 2 - STEPS / 1000) == [] or not any(
        one.clear for one in find_boundaries(STEPS, 2 - STEPS / 1000)
    )
    assert find_boundaries(STEPS, -_drops(200)) == []


def test_noise_without_a_drop_has_no_boundary() -> None:
    rng = np.random.default_rng(0)
    assert not any(one.clear for one in find_boundaries(STEPS, 2 + 0.002 * rng.standard_normal(len(STEPS))))
