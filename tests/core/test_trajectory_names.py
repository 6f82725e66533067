"""Arrays become a Trajectory only under the shared names and dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from headwise.core.errors import ConfigError
from headwise.core.trajectory import (
    assemble,
    attention_by_group,
    attribute,
    check_record,
    head_overlap,
    stack_seeds,
)


def trajectory(offset: float = 0.0):
    return assemble(
        {"excess_loss": np.arange(3.0) + offset, "attention_by_lag": np.full((3, 1, 2, 4), 0.25)},
        {"step": [0, 10, 20], "lag": [1, 2, 3, 4]},
        {"groups": [[1, 2], [3]], "source": "test"},
    )


def test_names_coordinates_and_attributes() -> None:
    made = trajectory()
    assert made["head"].values.tolist() == [1, 2]
    assert made["step"].values.tolist() == [0, 10, 20]
    assert attribute(made, "groups") == [[1, 2], [3]]
    assert attribute(made, "source") == "test"
    assert attribute(made, "absent") is None


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"atention": np.zeros(3)}, "unknown trajectory variable"),
        ({"competition_index": np.zeros(3)}, "unknown trajectory variable"),
        ({"excess_loss": np.zeros((3, 2))}, "excess_loss needs dimensions"),
        ({"excess_loss": np.zeros(3), "learning_rate": np.zeros(4)}, "along step"),
    ],
)
def test_wrong_arrays_are_refused(variables: dict[str, np.ndarray], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        assemble(variables, {})


def test_seeds_stack_in_front() -> None:
    stacked = stack_seeds([trajectory(), trajectory(1.0)], [3, 5])
    assert stacked["excess_loss"].dims == ("seed", "step")
    assert stacked["seed"].values.tolist() == [3, 5]
    assert attribute(stacked, "groups") == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda run: run.assign_coords(step=[0, 10, 30]), "along step"),
        (lambda run: run.assign_coords(lag=[1, 2, 3, 5]), "along lag"),
        (lambda run: run.isel(head=[0]), "along head"),
        (lambda run: run.drop_vars("excess_loss"), "not all of them hold excess_loss"),
    ],
)
def test_runs_that_differ_are_not_stacked(change, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        stack_seeds([trajectory(), change(trajectory())], [0, 1])


def test_seeds_stack_whatever_the_order_of_dimensions() -> None:
    turned = trajectory().transpose("lag", "head", "block", "step")
    assert stack_seeds([turned, turned], [0, 1])["attention_by_lag"].dims == ("seed", "step", "block", "head", "lag")


def test_a_record_is_checked_when_it_is_measured() -> None:
    check_record({"excess_loss": np.asarray(1.0), "attention_by_lag": np.zeros((1, 2, 4))})
    with pytest.raises(ConfigError, match="unknown trajectory variable"):
        check_record({"exces_loss": np.asarray(1.0)})
    with pytest.raises(ConfigError, match="attention_by_lag at one step"):
        check_record({"attention_by_lag": np.zeros((2, 4))})


def test_groups_and_overlap() -> None:
    shares = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.0, 0.4, 0.6]])
    assert np.allclose(
        attention_by_group(shares, [1, 2, 3, 4], [[1, 2], [3, 4], [2, 3]]), [[0.8, 0.2, 0.5], [0, 1, 0.4]]
    )
    assert np.allclose(head_overlap(shares), [[1, 0.2], [0.2, 1]])
