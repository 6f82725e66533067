"""Predictors by name: what a model in training is compared with.

`prefix_2` is Eq. 2 with the first two groups, `groups_1_3` the same with any groups; `bayes_2` is the Bayes-optimal
predictor that sees the lags of the first two groups, with contexts distributed as in the chain; `bayes_uniform_2` and
`bayes_position_2` take the other laws of contexts. Trained restricted-context models (`window_4`) are runs of their own
and not made here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast

import numpy as np
import numpy.typing as npt

from headwise.core.errors import ConfigError
from headwise.task.bayes import ContextLaw, Remember, bayes_predictor, compute_anew, prefix_lags
from headwise.task.chain import Task, group_tables, log_probabilities
from headwise.task.features import FloatArray

Predictor = Callable[[npt.NDArray[np.integer]], FloatArray]
"""Sequences (N, w + T) to log-probabilities (N, T, d)."""

_NAME = re.compile(r"(?P<kind>prefix|bayes|bayes_(?P<law>chain|uniform|position)|groups)(?P<numbers>(_[1-9][0-9]*)+)")


def prefix_names(task: Task) -> list[str]:
    """`prefix_1`, ..., `prefix_h`; the last is Eq. 1 itself."""
    return [f"prefix_{i}" for i in range(1, task.config.h + 1)]


def predictor(task: Task, name: str, *, seed: int = 0, remember: Remember = compute_anew) -> Predictor:
    """The predictor of that name; `seed` and `remember` matter only to Bayes predictors that are sampled or fitted."""
    match = _NAME.fullmatch(name)
    numbers = [int(n) for n in match["numbers"].split("_")[1:]] if match else []
    if match is None or (match["kind"] != "groups" and len(numbers) != 1):
        raise ConfigError(
            f"unknown predictor {name!r}; known: prefix_I, groups_K_..., bayes_I, bayes_uniform_I, bayes_position_I"
        )
    h = task.config.h
    if max(numbers) > h:
        raise ConfigError(f"predictor {name!r} names group {max(numbers)}, the task has task.h = {h} groups")
    if match["kind"].startswith("bayes"):
        law = cast(ContextLaw, match["law"] or "chain")
        return bayes_predictor(task, prefix_lags(task, numbers[0]), law=law, seed=seed, remember=remember)
    groups = numbers if match["kind"] == "groups" else list(range(1, numbers[0] + 1))
    group_tables(task, groups)  # a bad subset is refused here, not at the first evaluation
    return lambda sequences: log_probabilities(task, sequences, groups)
