"""What a run is said to cost: head importance is part of it."""

from __future__ import annotations

import pytest
from tests.conftest import tiny

from headwise.study.cost import estimate_seconds, importance_passes, importance_seconds


def test_head_importance_is_counted() -> None:
    plain = tiny(train__steps=100, measure__at__every=10)
    last = plain.changed({"measure.importance": "last"})
    every = plain.changed({"measure.importance": 1})
    assert importance_seconds(plain) == 0
    assert estimate_seconds(last) == pytest.approx(estimate_seconds(plain) + importance_seconds(last))
    assert importance_seconds(every) == pytest.approx(11 * importance_seconds(last)), "11 evaluations of 100 steps"


def test_a_head_of_an_early_block_costs_the_blocks_after_it() -> None:
    """Three heads, by mean and by zero: 2 passes, 6 read-outs a block, and 6 times the half after the first block."""
    one = tiny("full", measure__importance="last")
    two = one.changed({"model.blocks": 2})
    assert importance_passes(one) == pytest.approx(2 + 6 * 0.4)
    assert importance_passes(two) == pytest.approx(2 + 12 * 0.4 + 6 * 0.5)
    pairs = one.changed({"measure.importance_of": "pairs"})
    assert importance_passes(pairs) == pytest.approx(2 + 9 * 0.4)
