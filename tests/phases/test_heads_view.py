"""Which pattern each head copies: hysteresis, dwell, shared attention, events and phases."""

from __future__ import annotations

import numpy as np
import pytest

from headwise.phases.competition import competition_index, mean_overlap
from headwise.phases.config import DEFAULT
from headwise.phases.events import find_events
from headwise.phases.heads import HeadsView, read_heads
from headwise.phases.patterns import ideal_patterns

STEPS = np.linspace(0, 100, 101)
PATTERNS = ideal_patterns([[1], [2], [3]], None)


def view_of(shares: np.ndarray) -> HeadsView:
    return read_heads(STEPS, shares, PATTERNS, DEFAULT)


def staying(heads: int = 3) -> np.ndarray:
    shares = np.zeros((101, heads, 3))
    shares[..., 0] = 0.9
    return shares


def test_a_head_has_left_before_its_new_pattern_is_the_largest() -> None:
    shares = staying()
    shares[40:, 0, 0], shares[40:, 0, 2] = 0.5, 0.42
    found = view_of(shares)
    events = find_events(found, 3, DEFAULT)
    (offshoot,) = events.offshoots
    assert (offshoot.head, offshoot.source, offshoot.target) == (1, 1, 3)
    assert offshoot.step == pytest.approx(39.6, abs=0.5)
    assert [stage.label for stage in found.stages] == ["1", "1+3"]
    assert events.specialisation.final == {1: 3, 2: 1, 3: 1}
    assert events.specialisation.duplicates == {1: (2, 3)}
    assert events.specialisation.never == (2, 3)


def test_a_glance_is_not_an_offshoot() -> None:
    shares = staying()
    shares[50:53, 1, 0], shares[50:53, 1, 1] = 0.1, 0.85
    assert find_events(view_of(shares), 3, DEFAULT).offshoots == ()
    assert len(view_of(shares).stages) == 1


def test_a_small_sustained_share_is_not_an_offshoot() -> None:
    shares = staying()
    shares[40:, 1, 1] = 0.28
    assert find_events(view_of(shares), 3, DEFAULT).offshoots == ()


def test_a_return_is_not_a_second_offshoot() -> None:
    shares = staying()
    shares[30:60, 2, 0], shares[30:60, 2, 1] = 0.05, 0.9
    events = find_events(view_of(shares), 3, DEFAULT)
    assert [(o.head, o.target) for o in events.offshoots] == [(3, 2)]
    assert events.specialisation.final[3] == 1


def test_competitive_phase_ends_with_the_first_offshoot() -> None:
    shares = staying()
    shares[:10] = 0
    shares[30:, 1, 0], shares[30:, 1, 1] = 0.05, 0.9
    shares[70:, 2, 0], shares[70:, 2, 2] = 0.05, 0.9
    events = find_events(view_of(shares), 3, DEFAULT)
    assert events.competitive is not None
    assert events.cooperative is not None
    assert events.competitive.start == pytest.approx(9.5, abs=1)
    assert events.competitive.end == events.offshoots[0].step == events.cooperative.start
    assert events.cooperative.end == 100
    assert [(o.head, o.target) for o in events.offshoots] == [(2, 2), (3, 3)]
    assert events.specialisation.never == ()


def test_a_head_that_never_copied_the_common_pattern_leaves_nobody() -> None:
    shares = staying()
    shares[:, 0, 0] = 0
    shares[50:, 0, 1] = 0.9
    events = find_events(view_of(shares), 3, DEFAULT)
    assert events.offshoots == ()
    assert events.competitive is None


def test_heads_without_a_pattern() -> None:
    found = view_of(np.zeros((101, 2, 3)))
    assert found.stages == ()
    assert found.notes == ("heads: no head holds any pattern",)
    assert find_events(found, 2, DEFAULT).specialisation.final == {1: None, 2: None}


def test_simultaneous_departures_are_one_boundary() -> None:
    shares = staying()
    for head, pattern in ((0, 1), (2, 2)):
        shares[50:, head, 0], shares[50:, head, pattern] = 0.02, 0.9
    assert [stage.label for stage in view_of(shares).stages] == ["1", "1+2+3"]


def test_competition_index_extremes() -> None:
    """All on one lag 1, each on its own lag 0, and even attention, which is nobody's pattern, 0 too."""
    chance = np.full((4, 10), 0.1)
    same, even = np.zeros((4, 3, 10)), np.full((4, 3, 10), 0.1)
    same[..., 2] = 1
    apart = np.tile(np.eye(10)[:3], (4, 1, 1))
    np.testing.assert_allclose(competition_index(same, chance), 1)
    np.testing.assert_allclose(competition_index(apart, chance), 0)
    np.testing.assert_allclose(competition_index(even, chance), 0)
    half = 0.5 * same + 0.5 * even
    np.testing.assert_allclose(competition_index(half, chance), 0.5)


def test_mean_overlap_of_pairs() -> None:
    mixed = np.tile(np.array([[1, 0.5, 0.2], [0.5, 1, 0.8], [0.2, 0.8, 1]]), (4, 1, 1))
    np.testing.assert_allclose(mean_overlap(mixed), 0.5)


def test_a_latecomer_to_the_common_pattern_does_not_move_the_next_boundary() -> None:
    shares = staying()
    shares[:48, 2, 0] = 0.0
    shares[50:, 1, 0], shares[50:, 1, 1] = 0.02, 0.9
    found = view_of(shares)
    assert [stage.label for stage in found.stages] == ["1", "1+2"]
    assert found.boundaries == pytest.approx((49.5,), abs=0.5)


def test_an_early_stage_of_a_long_run_is_kept() -> None:
    steps = np.concatenate([[0.0], np.geomspace(1, 3000, 400)])
    shares = np.zeros((401, 2, 3))
    shares[steps > 20, :, 0] = 0.8
    gone = steps > 80
    shares[gone, 1, 0], shares[gone, 1, 1] = 0.1, 0.8
    found = read_heads(steps, shares, PATTERNS, DEFAULT)
    events = find_events(found, 2, DEFAULT)
    assert [stage.label for stage in found.stages] == ["1", "1+2"]
    assert [(o.head, o.source, o.target) for o in events.offshoots] == [(2, 1, 2)]
    assert events.offshoots[0].step == pytest.approx(80, rel=0.03)
    assert events.competitive is not None
