"""What people's own functions are given at a look, and how their mistakes are said."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch

from headwise.core.errors import ConfigError
from headwise.core.look import Look, call_on_look
from headwise.core.own_metrics import checked_metrics, measure_metrics
from headwise.core.source_digest import qualified_name, source_digest

LOOK = Look(
    step=7,
    variables={
        "loss": np.array([2.0, np.nan]),
        "attention_entropy": np.arange(4.0).reshape(2, 2),
        "attention_by_group": np.arange(4.0).reshape(1, 2, 2),
        "role_score": np.full((1, 1, 2), 0.5),
        "attention_by_lag": np.ones((1, 1, 3)),
        "role_chance": np.ones((1, 1, 2)),
    },
    coordinates={"split": ["train", "test"], "role": ["previous", "induction"]},
)


def test_numbers_have_names_that_say_what_they_are() -> None:
    numbers = LOOK.numbers()
    assert {name: value for name, value in numbers.items() if "loss" in name} == {"loss/train": 2.0}, "no NaN"
    assert numbers["attention_entropy/L1H0"] == 2.0
    assert numbers["attention_by_group/L0H1/group_2"] == 3.0
    assert numbers["role_score/L0H0/induction"] == 0.5
    assert not any(name.startswith(("attention_by_lag", "role_chance")) for name in numbers)
    assert set(LOOK.numbers(variables=["loss"])) == {"loss/train"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["accuracy"], "metrics are functions by name"),
        ({"": len}, "no name for a metric"),
        ({"a\nb": len}, "no name for a metric"),
        ({7: len}, "no name for a metric"),
        ({"accuracy": 3}, "'accuracy' is a int; give a function"),
    ],
)
def test_wrong_metrics_are_refused_at_once(given: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        checked_metrics(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda look: 1 / 0, "'mine' failed at step 7: ZeroDivisionError: division by zero"),
        (lambda look: np.ones((2, 3)), r"'mine' gave an array of shape \(2, 3\) at step 7; return one number"),
        (lambda look: "high", "'mine' gave a str at step 7"),
        (lambda look: None, "'mine' gave a NoneType at step 7"),
    ],
)
def test_a_metric_that_fails_is_one_sentence(function: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        measure_metrics({"mine": function}, LOOK)
    assert "\n" not in str(caught.value)


def test_numbers_of_any_library_are_taken() -> None:
    given = {"a": lambda look: torch.tensor(1.5), "b": lambda look: np.float32(2), "c": lambda look: torch.ones(1)}
    assert measure_metrics(given, LOOK)["metrics"].tolist() == [1.5, 2.0, 1.0]


def test_a_hook_that_fails_is_one_sentence() -> None:
    def hook(look: Look) -> None:
        raise ValueError("no\nconnection")

    with pytest.raises(ConfigError, match="on_look failed at step 7: ValueError: no connection"):
        call_on_look(hook, LOOK)


def test_an_interrupt_is_not_an_error_of_the_function() -> None:
    def hook(look: Look) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_on_look(hook, LOOK)


def made(text: str, name: str = "f", **outside: Any) -> Any:
    """What is defined by a piece of code that has no file."""
    names: dict[str, Any] = {"__name__": "somebody", **outside}
    exec(text, names)
    return names[name]


def test_code_is_known_by_what_it_says_and_uses() -> None:
    def outer(scale: float) -> Any:
        def inner(look: Look) -> float:
            return scale * look.step

        return inner

    assert source_digest(outer(2.0)) == source_digest(outer(2.0))
    assert source_digest(outer(2.0)) != source_digest(outer(3.0)), "what a closure holds counts"
    text = "def f(x): return SCALE * helper(x)"
    helpers = [made("def helper(x): return x + 1", "helper"), made("def helper(x): return x + 2", "helper")]
    digests = {source_digest(made(text, SCALE=scale, helper=helper)) for scale in (1, 2) for helper in helpers}
    assert len(digests) == 4, "values and functions from outside count"
    arrays = {source_digest(made("def f(x): return TABLE[x]", TABLE=np.full(3, value))) for value in (1.0, 1.0, 2.0)}
    assert len(arrays) == 2
    assert source_digest(functools.partial(max, 3)) != source_digest(functools.partial(max, 4))
    assert source_digest(made("def f(x): return f(x)")) == source_digest(made("def f(x): return f(x)")), "recursion"


def test_a_class_is_known_by_its_methods_and_bases() -> None:
    text = "class A:\n    def forward(self, x):\n        return x + {}\nclass B(A):\n    pass"
    ones, twos = (made(text.format(number), "B") for number in (1, 2))
    assert source_digest(ones) != source_digest(twos)
    assert source_digest(ones) == source_digest(made(text.format(1), "B"))


def test_installed_code_counts_by_name() -> None:
    assert qualified_name(torch.nn.Linear) == "torch.nn.modules.linear.Linear"
    assert source_digest(torch.nn.Linear) == source_digest(torch.nn.Linear)
    assert source_digest(torch.nn.Linear) != source_digest(torch.nn.Bilinear)
