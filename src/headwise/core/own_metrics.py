"""Numbers that a person's own functions measure at each look, kept as the trajectory variable `metrics`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.look import Look, Metric, cause

NAME = re.compile(r"[^\W\d_]\w*(?:[ .:+-]?\w+)*", re.ASCII)
LONGEST = 60
VARIABLE, DIMENSION = "metrics", "metric"


def checked_metrics(given: Mapping[str, Metric] | None) -> dict[str, Metric]:
    """The metrics by name; `ConfigError` where this is something else."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"metrics are functions by name, such as metrics={{'accuracy': function}} (got a {type(given).__name__})"
        )
    for name, function in given.items():
        if not isinstance(name, str) or not NAME.fullmatch(name) or len(name) > LONGEST:
            raise ConfigError(
                f"metrics: {name!r:.80} is no name for a metric; take letters, digits, spaces and . : + - _, "
                f"at most {LONGEST}"
            )
        if not callable(function):
            raise ConfigError(
                f"metrics: {name!r} is a {type(function).__name__}; give a function of a look that returns a number"
            )
    return dict(given)


def measure_metrics(metrics: Mapping[str, Metric], look: Look) -> dict[str, np.ndarray]:
    """The variable `metrics` of this look; nothing where there are none."""
    if not metrics:
        return {}
    return {VARIABLE: np.array([_number(name, function, look) for name, function in metrics.items()])}


def metric_coordinates(metrics: Mapping[str, Metric]) -> dict[str, list[str]]:
    """The names along the dimension of that variable."""
    return {DIMENSION: list(metrics)} if metrics else {}


def _number(name: str, function: Metric, look: Look) -> float:
    try:
        value: Any = function(look)
    except Exception as error:  # what other people's code raises is open-ended
        raise ConfigError(f"metrics: {name!r} failed at step {look.step}: {cause(error)}") from error
    shape = tuple(getattr(value, "shape", ()))
    if any(size != 1 for size in shape):
        raise ConfigError(f"metrics: {name!r} gave an array of shape {shape} at step {look.step}; return one number")
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        raise ConfigError(
            f"metrics: {name!r} gave a {type(value).__name__} at step {look.step}; return one number"
        ) from None
