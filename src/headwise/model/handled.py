"""Which models the fast paths compute: every setting of `ModelConfig` and the values they handle.

A setting or a value that is missing here goes to the reference path, so a model switch added later is computed
correctly, if slowly, until the torch path and the kernel handle it and its line is added. Both handle the same models,
at present all of them. Settings of the first weights concern no path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from headwise.core.keys import flatten
from headwise.model.config import ModelConfig


class Handled(NamedTuple):
    """Which values of one setting the fast paths handle, and what that means in words."""

    accepts: Callable[[Any], bool]
    meaning: str


def one_of(*values: str, meaning: str = "") -> Handled:
    """Only these values."""
    return Handled(lambda value: value in values, meaning or " or ".join(values))


def at_least(smallest: int) -> Handled:
    """Whole numbers from `smallest` on."""
    return Handled(lambda value: isinstance(value, int) and value >= smallest, f"at least {smallest}")


LIMIT = Handled(lambda value: value is None or (isinstance(value, int) and value >= 1), "a number of tokens or none")
RATE = Handled(lambda value: isinstance(value, float | int) and 0 <= value < 1, "a rate below 1")
FIRST_WEIGHTS = Handled(lambda value: True, "any first weights")

HANDLED: dict[str, Handled] = {
    "heads": at_least(1),
    "blocks": at_least(1),
    "embedding": one_of("one_hot", "learned"),
    "width": at_least(1),
    "positions": one_of("one_hot", "learned", "sinusoidal", "relative"),
    "score": one_of("product", "merged"),
    "score_scale": one_of("none", "head", "input"),
    "attention_bias": one_of("on", "off"),
    "output": one_of("on", "off"),
    "residual": one_of("on", "off"),
    "norm": one_of("none", "post", "pre"),
    "mlp": at_least(0),
    "unembedding": one_of("identity", "learned"),
    "unembedding_bias": one_of("on", "off"),
    "dropout.embedding": RATE,
    "dropout.attention": RATE,
    "dropout.attention_branch": RATE,
    "dropout.mlp": RATE,
    "dropout.mlp_branch": RATE,
    "context": LIMIT,
    "window": LIMIT,
    "init": FIRST_WEIGHTS,
    "init_scale": FIRST_WEIGHTS,
    "init_values": FIRST_WEIGHTS,
    "init_rest": FIRST_WEIGHTS,
    "position_rows": FIRST_WEIGHTS,
}


def not_handled(model: ModelConfig) -> str | None:
    """Why the fast paths do not compute this model, in one line that names the setting; `None` if they do."""
    for key, value in flatten(vars(model)).items():
        known = HANDLED.get(key)
        if known is None:
            return f"the fast paths do not handle the setting model.{key} = {value}"
        if not known.accepts(value):
            return f"the fast paths need {known.meaning}, model.{key} = {value}"
    return None


def require_handled(model: ModelConfig) -> None:
    """Stop before a fast path computes another function than the reference."""
    problem = not_handled(model)
    if problem is not None:
        raise ValueError(f"{problem}; use the reference path")
