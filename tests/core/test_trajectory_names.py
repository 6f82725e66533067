"""Arrays become a Trajectory only under the shared names and dimensions."""

from __future__ import annotations

import numpy as np
import pytest

from headwise.core.errors import ConfigError
from headwise.core.trajectory import assemble, attention_by_group, attribute, head_overlap, stack_seeds


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


def test_groups_and_overlap() -> None:
    shares = np.array([[0.5, 0.3, 0.2, 0.0], [0.0, 0.0, 0.4, 0.6]])
    assert np.allclose(
        attention_by_group(shares, [1, 2, 3, 4], [[1, 2], [3, 4], [2, 3]]), [[0.8, 0.2, 0.5], [0, 1, 0.4]]
    )
    assert np.allclose(head_overlap(shares), [[1, 0.2], [0.2, 1]])
