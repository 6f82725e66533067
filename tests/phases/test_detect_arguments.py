"""What `detect` and `detect_seeds` accept, and the one sentence they refuse the rest with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from phase_examples import three_stage_run

from headwise.core.errors import ConfigError
from headwise.core.trajectory import stack_seeds
from headwise.phases.detection import detect, detect_seeds
from headwise.phases.roles import head_roles, own_order


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([three_stage_run(), three_stage_run()], "a list"),
        ((three_stage_run(),), "a tuple"),
        (stack_seeds([three_stage_run()] * 2, [1, 2]), "a seed dimension"),
    ],
)
def test_detect_names_detect_seeds(given: Any, named: str) -> None:
    with pytest.raises(ConfigError) as refused:
        detect(given)
    assert str(refused.value) == f"detect takes one trajectory, not {named}; several seeds go to detect_seeds"


def test_one_run_is_a_report_of_one_seed() -> None:
    run = three_stage_run(seed=7)
    for given in (run, [run], stack_seeds([run], [7]), iter([run])):
        report = detect_seeds(given)
        assert report.names == (7,)
        assert report.matching == ((1, 2, 3),)
        assert report.disagreements == ()
        alone = detect(run).to_json()
        together = report.to_json()
        for ours, theirs in zip(together["offshoots"], alone["offshoots"], strict=True):
            assert {key: ours[key] for key in theirs if key != "interval"} | {"interval": theirs["interval"]} == theirs
            assert ours["interval"] == [theirs["step"], theirs["step"]]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([], "needs at least one trajectory; the list is empty"),
        (["runs/minimal/0ea5daec-s0"], "takes trajectories, not a str; `load` reads a stored run"),
        (None, "takes trajectories, not a NoneType"),
        (
            [three_stage_run(), three_stage_run().isel(head=[0, 1])],
            "seed 2 has 1 block of 2 heads where seed 1 has 1 block of 3",
        ),
    ],
)
def test_detect_seeds_refuses_in_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        detect_seeds(given)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_seed_without_readable_heads_is_left_out_of_matching(place: int) -> None:
    runs = [three_stage_run(order=order) for order in ((0, 1, 2), (2, 0, 1), (1, 2, 0))]
    runs[place] = runs[place].copy(deep=True)
    runs[place]["attention_by_lag"][:] = np.nan
    report = detect_seeds(runs)
    assert report.reference == (1 if place == 0 else 0)
    assert report.matching[place] == ()
    assert report.to_json()["offshoots"][0]["share"] == pytest.approx(2 / 3)
    assert [head["share"] for head in report.to_json()["specialised"]["heads"]] == [1.0, 1.0, 1.0]
    assert head_roles(runs)[place] == own_order(runs[place]) == [[0, 1, 2]]
    assert str(report)
    assert len(report.to_frame())


def test_where_most_seeds_have_no_readable_heads_each_head_plays_itself() -> None:
    runs = [three_stage_run(order=(2, 0, 1)) for _ in range(3)]
    for run in runs[:2]:
        run["attention_by_lag"][:] = np.nan
    report = detect_seeds(runs)
    assert report.matching == ((), (), (1, 2, 3))
    assert [o["head"] for o in report.to_json()["offshoots"]] == [1, 2]


def test_roles_bring_the_heads_of_permuted_runs_together() -> None:
    orders = [(0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 2, 1)]
    runs = [three_stage_run(order=order) for order in orders]
    roles = head_roles(runs)
    for run, (block,) in zip(runs, roles, strict=True):
        np.testing.assert_array_equal(run["attention_by_lag"].values[:, 0, block], runs[0]["attention_by_lag"][:, 0])
    assert head_roles(runs[1:2]) == [[[0, 1, 2]]]
