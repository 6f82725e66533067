"""A task config says what is wrong in one line that names the key, and its helpers lay groups out as named."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

from headwise.core.config import validated
from headwise.core.errors import ConfigError
from headwise.task.config import TaskConfig, group_lags, group_weights, importance, overlapping_groups

BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "overlap": ({"w": 3, "h": 2, "groups": ((1, 2), (2, 3))}, "task.groups", "lag 2 is in I(1) and I(2)"),
    "lag too far": ({"w": 3, "h": 1, "groups": ((1, 4),)}, "task.groups", "outside 1..3"),
    "lag zero": ({"w": 3, "h": 1, "groups": ((0, 1),)}, "task.groups", "outside 1..3"),
    "lag negative": ({"w": 3, "h": 1, "groups": ((-1,),)}, "task.groups", "outside 1..3"),
    "lag twice": ({"w": 3, "h": 1, "groups": ((1, 1),)}, "task.groups", "twice"),
    "group empty": ({"w": 3, "h": 2, "groups": ((1,), ())}, "task.groups", "I(2) is empty"),
    "group count": ({"w": 3, "h": 2, "groups": ((1,),)}, "task.groups", "task.h = 2"),
    "unequal split": ({"w": 5, "h": 2}, "task.w", "task.h = 2"),
    "too few lags": ({"w": 2, "h": 3, "groups": "singleton"}, "task.w", "fewer lags"),
    "layout unknown": ({"groups": "blocks"}, "groups", "contiguous"),
    "alpha negative": ({"alpha": (1.2, -0.2)}, "task.alpha", "negative"),
    "alpha too long": ({"alpha": (0.5, 0.3, 0.2)}, "task.alpha", "3 weights for 2 lags"),
    "alpha empty": ({"alpha": ()}, "task.alpha", "0 weights for 2 lags"),
    "alpha groups": ({"alpha": ((0.5, 0.5), (1.0, 0.0))}, "task.alpha", "2 groups"),
    "alpha one group": ({"alpha": ((0.5, 0.5), (1.0,), (0.5, 0.5))}, "task.alpha", "I(2) 1 weights for 2 lags"),
    "alpha zero": ({"alpha": (0.0, 0.0)}, "task.alpha", "only zero"),
    "alpha NaN": ({"alpha": (math.nan, 1.0)}, "alpha:", "finite weights"),
    "alpha infinite": ({"alpha": ((0.5, 0.5), (1.0, math.inf), (0.5, 0.5))}, "alpha:", "finite weights"),
    "alpha unknown": ({"alpha": "mean"}, "alpha:", "uniform, sum"),
    "lag fraction": ({"groups": ((1.5,), (2,), (3,))}, "groups:", "lists of lags"),
    "groups flat": ({"groups": (1, 2, 3)}, "groups:", "lists of lags"),
    "m zero": ({"m": 0}, "m:", "greater than 0"),
    "m negative": ({"m": -1.7}, "m:", "greater than 0"),
    "m NaN": ({"m": math.nan}, "m:", "finite"),
    "m infinite": ({"m": math.inf}, "m:", "finite"),
    "m text": ({"m": "large"}, "m:", "number"),
    "m overflows": ({"m": 1e200}, "task.m", "norm of inf"),
    "m underflows": ({"m": 1e-200}, "task.m", "norm of 0"),
    "b0 zero": ({"b0": 0.0}, "b0:", "greater than 0"),
    "norms count": ({"norms": (3.0, 2.0)}, "task.norms", "2 values for 3 groups"),
    "norms zero": ({"norms": (3.0, 2.0, 0.0)}, "task.norms", "positive"),
    "norms NaN": ({"norms": (3.0, 2.0, math.nan)}, "norms", "finite"),
    "d small": ({"d": 1}, "d:", "greater than or equal to 2"),
    "d fraction": ({"d": 2.5}, "d:", "integer"),
    "w zero": ({"w": 0}, "w:", "greater than or equal to 1"),
    "T zero": ({"T": 0}, "T:", "greater than or equal to 1"),
    "h zero": ({"h": 0}, "h:", "greater than or equal to 1"),
    "correlation one": ({"features": "correlated", "correlation": 1.0}, "correlation", "less than 1"),
    "correlation low": ({"features": "correlated", "correlation": -0.5}, "task.correlation", "exceed -0.500"),
    "correlation idle": ({"correlation": 0.5}, "task.correlation", "--task.features correlated"),
    "too many features": ({"d": 2, "w": 5, "h": 5, "features": "frobenius"}, "task.h", "lower task.h"),
    "too many correlated": ({"d": 2, "w": 5, "h": 5, "features": "correlated"}, "task.h", "lower task.h"),
    "unknown key": ({"alphas": "sum"}, "alphas", "did you mean alpha?"),
}


@pytest.mark.parametrize(("values", "key", "why"), BAD.values(), ids=BAD.keys())
def test_bad_values_get_one_line_that_names_the_key(values: dict[str, Any], key: str, why: str) -> None:
    with pytest.raises(ConfigError) as caught:
        validated(TaskConfig, values)
    message = str(caught.value)
    assert "\n" not in message
    assert key in message
    assert why in message


def test_layouts() -> None:
    assert group_lags(TaskConfig(w=6, h=3)) == ((1, 2), (3, 4), (5, 6))
    assert group_lags(TaskConfig(w=6, h=3, groups="reversed")) == ((5, 6), (3, 4), (1, 2))
    assert group_lags(TaskConfig(w=6, h=3, groups="singleton")) == ((1,), (2,), (3,))
    unequal = ((13, 14), (9, 10, 11, 12), (1, 2, 3, 4, 5, 6, 7, 8))
    assert group_lags(TaskConfig(w=14, h=3, groups=unequal)) == unequal
    assert overlapping_groups(3, 4, 2) == ((1, 2, 3, 4), (3, 4, 5, 6), (5, 6, 7, 8))
    TaskConfig(w=8, h=3, groups=overlapping_groups(3, 4, 2), overlap="allow")


def test_weights_and_importance() -> None:
    lags = ((1, 2), (3, 4, 5, 6))
    uneven = TaskConfig(w=6, h=2, groups=lags)
    assert group_weights(uneven, lags) == ((0.5, 0.5), (0.25,) * 4)
    assert group_weights(uneven.changed({"alpha": "sum"}), lags) == ((1.0, 1.0), (1.0,) * 4)
    shared = TaskConfig(alpha=(0.7, 0.3))
    assert group_weights(shared, group_lags(shared)) == ((0.7, 0.3),) * 3
    assert importance(TaskConfig()) == pytest.approx((28.9, 17.0, 10.0))
    assert importance(TaskConfig(m=1.0)) == (10.0, 10.0, 10.0)
    assert importance(TaskConfig(norms=(5.0, 4.0, 3.0))) == (5.0, 4.0, 3.0)


def test_a_config_survives_its_json_form() -> None:
    config = TaskConfig(w=3, h=2, groups=((1, 2), (2, 3)), overlap="allow", alpha=((0.5, 0.5), (0.1, 0.9)))
    assert TaskConfig.model_validate_json(config.model_dump_json()) == config


def test_the_task_room_is_light() -> None:
    """Importing it loads neither torch nor an array library; computing with it still does not load torch."""
    code = (
        "import sys, headwise.task\n"
        "assert 'numpy' not in sys.modules\n"
        "from headwise.task import TaskConfig, build_task, predictor\n"
        "predictor(build_task(TaskConfig(d=3, w=3), 0), 'bayes_1')\n"
        "assert not {'torch', 'xarray', 'scipy'} & set(sys.modules)\n"
        "assert all(hasattr(headwise.task, name) for name in headwise.task.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
