"""What a run is said to cost: about what it takes, head importance included."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.conftest import tiny

from headwise.bench.cases import NAMES, Name, paper_sizes
from headwise.model.handled import HANDLED
from headwise.study.branch_start import Way, cost_text
from headwise.study.config import RunConfig
from headwise.study.cost import estimate_seconds, importance_passes, importance_seconds, seconds_of_steps
from headwise.study.experiments import experiment


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
MEASURED = json.loads((Path(__file__).parents[2] / "docs" / "performance.json").read_text())["seconds"]


def at_paper_size(case: Name, path: str = "auto") -> RunConfig:
    """A run of 100 steps of what the benchmark has measured."""
    sizes = paper_sizes(case)
    return tiny("full" if sizes.model.embedding == "learned" else "minimal").changed(
        {
            "model": sizes.model,
            "task.d": sizes.d,
            "task.w": sizes.w,
            "task.T": sizes.T,
            "measure.at.every": 100,
            "measure.snapshots.every": 100,
            "train.steps": 100,
            "train.batch": sizes.batch,
            "train.samples": sizes.batch,
            "compute.path": path,
        }
    )


@pytest.mark.parametrize("path", ["auto", "kernel", "torch", "reference"])
@pytest.mark.parametrize("case", STEPS)
def test_a_step_is_said_to_take_about_what_the_benchmark_measured(case: Name, path: str) -> None:
    """Of every kind of model that has a case there, two blocks and norms before the branches among them."""
    measured = MEASURED[case]["kernel" if path == "auto" else path]
    step = seconds_of_steps(at_paper_size(case, path), 100) / 100
    assert measured / 1.7 < step < measured * 1.7, (step, measured)


@pytest.mark.parametrize("name", ["minimal", "full"])
@pytest.mark.parametrize("window", [None, 2, 12])
def test_a_run_takes_longest_on_the_reference_path(name: str, window: int | None) -> None:
    config = experiment(name, "published", changes={"model.window": window})
    kernel, torch, reference = (
        estimate_seconds(config.changed({"compute.path": path})) for path in ("kernel", "torch", "reference")
    )
    assert estimate_seconds(config) == kernel
    assert kernel < torch < reference


def test_windows_on_the_reference_path() -> None:
    """Microseconds of a step for each window, measured on one core with 300 windows; as roughly as all of this."""
    for name, window, measured in (("minimal", 2, 24), ("minimal", 12, 34), ("full", 2, 120), ("full", 12, 250)):
        config = experiment(name, "published", changes={"model.window": window, "compute.path": "reference"})
        windows = config.train.batch * config.task.T
        step = seconds_of_steps(config.changed({"measure.at.every": 10**6, "measure.snapshots.every": 10**6}), 1)
        assert measured / 2 < 1e6 * step / windows < 2 * measured, (name, window)


def test_a_model_that_no_fast_path_handles_is_estimated_on_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    on_kernel = estimate_seconds(at_paper_size("full"))
    monkeypatch.delitem(HANDLED, "mlp")
    assert estimate_seconds(at_paper_size("full")) > 2 * on_kernel
    assert estimate_seconds(at_paper_size("full")) == estimate_seconds(at_paper_size("full", "reference"))


def test_head_importance_takes_as_long_whichever_path_trains() -> None:
    found = {
        importance_seconds(at_paper_size("full", path).changed({"measure.importance": "last"}))
        for path in ("kernel", "torch", "reference")
    }
    assert max(found) == pytest.approx(min(found))
    assert min(found) > 0


def test_a_branch_on_the_reference_path_is_said_to_take_that_long() -> None:
    """What is computed again is so on the path of the parent, and the branch on its own, neither counted twice."""
    parent, branch = at_paper_size("full", "kernel"), at_paper_size("full", "reference")
    again, ahead = 100 * MEASURED["full"]["kernel"], 100 * MEASURED["full"]["reference"]
    for steps, seconds in ((0, ahead), (100, again + ahead)):
        line = cost_text(Way(0, 0, steps), 0, parent=parent, branch=branch)
        found = re.search(r"about (\d+) min", line)
        assert found is not None, line
        assert seconds / 1.7 < 60 * int(found[1]) < 1.7 * seconds, line
