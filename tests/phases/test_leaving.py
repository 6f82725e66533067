"""Leaving, adding, sharing and competing, on heads that do just that."""

from __future__ import annotations

import numpy as np
import pytest
from lag_runs import STEPS, falling, lag_run, ramp

from headwise.phases.detection import detect

UP = 0.8 * ramp(100)


def changes(kept: float) -> tuple[int, int, int]:
    """Offshoots, additions and open statements where head 2 keeps this share of its old lag."""
    gone, up = ramp(500), 0.55 * ramp(100)
    heads = [[{3: up}, {3: up * (1 - (1 - kept) * gone), 5: 0.4 * gone}]]
    report = detect(lag_run(heads, loss=falling(100, 500)))
    return len(report.offshoots), len(report.adds), len(report.undecided)


@pytest.mark.parametrize(
    ("kept", "expected"), [(0.0, (1, 0, 0)), (0.5, (1, 0, 0)), (0.7, (0, 0, 1)), (0.95, (0, 1, 0))]
)
def test_what_the_old_pattern_loses_decides(kept: float, expected: tuple[int, int, int]) -> None:
    assert changes(kept) == expected


def test_an_offshoot_is_from_the_largest_pattern() -> None:
    """Head 2 holds lags 3 and 7 and gives up the smaller one for lag 5: the larger one stays, so it adds."""
    gone = ramp(500)
    heads = [[{3: UP}, {3: 0.45 * ramp(100), 7: 0.25 * ramp(250) * (1 - gone), 5: 0.3 * gone}]]
    report = detect(lag_run(heads, loss=falling(100, 500)))
    assert report.offshoots == ()
    assert [(o.head, o.source, o.target) for o in report.adds][-1] == (2, "3", "5")


def test_of_two_lags_taken_up_together_the_larger_one_can_be_left() -> None:
    gone = ramp(600)
    up = ramp(100)
    heads = [[{3: 0.5 * up, 5: 0.3 * up}, {3: 0.45 * up * (1 - gone), 5: up * (0.3 + 0.5 * gone)}]]
    report = detect(lag_run(heads, loss=falling(100, 600)))
    assert [(o.head, o.source, o.target) for o in report.offshoots] == [(2, "3", "5")]
    assert report.offshoots[0].interval is not None
    assert report.offshoots[0].interval[0] <= 600 <= report.offshoots[0].interval[1]


def test_competition_ends_where_somebody_leaves_and_cooperation_begins_then() -> None:
    gone = ramp(500)
    heads = [[{3: UP}, {3: UP}, {3: UP * (1 - gone), 5: 0.8 * gone}]]
    report = detect(lag_run(heads, loss=falling(100, 500)))
    assert report.competitive is not None
    assert report.cooperative is not None
    assert report.competitive.start == pytest.approx(90, abs=15)
    assert report.competitive.end <= report.cooperative.start
    assert report.cooperative.start == report.offshoots[0].step == pytest.approx(495, abs=20)


def test_a_pattern_that_nobody_leaves_is_shared() -> None:
    report = detect(lag_run([[{3: UP}, {3: UP}]], loss=falling(100)))
    assert report.competitive is None
    assert report.offshoots == ()
    shared = report.events[0].shared
    assert shared is not None
    assert shared.label == "3"
    assert "shared, not competition" in " ".join(str(report).split())


def test_early_competition_of_a_long_run_counts_whatever_its_length() -> None:
    """All heads on one lag from about 33 to 65, as in the full decoder: 3 % of 1000 steps and 1 % of 3000."""
    for length in (400, 1000, 3000):
        steps = np.concatenate([np.arange(0, 201, 5.0), np.arange(220, length + 1, 20.0)])
        up, gone = 0.7 * ramp(30, width=15, steps=steps), ramp(70, width=15, steps=steps)
        run = lag_run([[{3: up}, {3: up * (1 - gone), 6: 0.7 * gone}]], steps=steps, loss=falling(30, 70, steps=steps))
        found = detect(run).competitive
        assert found is not None
        assert found.start == pytest.approx(28, abs=6)
        assert found.end == pytest.approx(66, abs=8)


def test_heads_that_only_drift_do_not_compete() -> None:
    """With the loss flat, everything that heads do is open; the index of even attention is 0, not 1."""
    gone = ramp(500)
    flat = 3 + 0.002 * np.random.default_rng(0).normal(size=len(STEPS))
    heads = [[{3: 0.5 * UP}, {3: 0.5 * UP * (1 - gone), 5: 0.4 * gone}]]
    report = detect(lag_run(heads, loss=flat))
    assert report.offshoots == report.adds == report.roles == report.transitions == ()
    assert report.competitive is None
    assert report.loss.stages == ()
    assert {item.reason for item in report.undecided} == {"the loss does not move, so this may be drift"}
    assert report.index is not None
    assert report.index[0, 0] == pytest.approx(0, abs=1e-4)


def test_found_patterns_do_not_merge_heads_that_differ() -> None:
    """Blurred heads over the same seven lags, each with its own profile that sharpens to one lag."""
    sharp = ramp(500, width=600)
    heads = []
    for own in (2, 4):
        blur = dict.fromkeys(range(1, 8), 0.12 * (1 - sharp))
        heads.append(blur | {own: 0.12 * (1 - sharp) + 0.7 * sharp})
    report = detect(lag_run([heads], loss=falling(500)))
    assert {role.role for role in report.roles} == {"previous", "lag 4"}
    assert all(len(pattern.lags) == 1 for pattern in report.heads.patterns)
    assert report.offshoots == ()
