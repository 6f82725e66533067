"""What a run is said to cost: about what it takes, head importance included."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import tiny

from headwise.bench.cases import NAMES, Name, paper_sizes
from headwise.study.cost import estimate_seconds, importance_passes, importance_seconds, seconds_of_steps


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


STEPS: tuple[Name, ...] = tuple(case for case in NAMES if case != "evaluation")


@pytest.mark.parametrize("case", STEPS)
def test_a_step_is_said_to_take_about_what_the_benchmark_measured(case: Name) -> None:
    """Of every kind of model that has a case there, two blocks and norms before the branches among them."""
    measured = json.loads((Path(__file__).parents[2] / "docs" / "performance.json").read_text())["seconds"][case]
    sizes = paper_sizes(case)
    config = tiny("full" if sizes.model.embedding == "learned" else "minimal").changed(
        {
            "model": sizes.model,
            "task.d": sizes.d,
            "task.w": sizes.w,
            "task.T": sizes.T,
            "measure.at.every": 100,
            "measure.snapshots.every": 100,
            "train.batch": sizes.batch,
            "train.samples": sizes.batch,
        }
    )
    step = seconds_of_steps(config, 100) / 100
    assert measured["kernel"] / 1.7 < step < measured["kernel"] * 1.7, (step, measured["kernel"])
