"""One look at a model, as it is handed to people's own functions: `metrics={"name": fn}` and `on_look=fn`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError
from headwise.core.readable import on_one_line
from headwise.core.variables import DIMENSIONS, VARIABLES

TRACKED = ("split", "predictor", "metric", "block", "head", "group", "role")
"""Dimensions that single numbers are taken from; lags, places and pairs of heads are too many for a list of curves."""


@dataclass(frozen=True)
class Look:
    """What was measured at one step; `metrics` and `on_look` of `watch` and `train` are called with it.

    `model` is the model itself, `tokens` the sequences that were shown to it, and `variables` what was measured, by the
    names of docs/variables.md and without the step. `coordinates` says what the entries along a dimension are.

    >>> import numpy as np
    >>> from headwise import Look
    >>> Look(step=40, variables={"loss": np.array([2.1, 2.3])}, coordinates={"split": ["train", "test"]}).numbers()
    {'loss/train': 2.1, 'loss/test': 2.3}
    """

    step: int
    variables: Mapping[str, np.ndarray]
    coordinates: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    model: Any = field(default=None, repr=False)
    tokens: Any = field(default=None, repr=False)

    def numbers(self, *, variables: Sequence[str] | None = None) -> dict[str, float]:
        """Single finite numbers by name, such as `loss/train` and `attention_entropy/L0H2`, as trackers take them.

        All but those by lag, by place and of pairs of heads, and those that only serve a report; or of these
        `variables` alone.
        """
        found: dict[str, float] = {}
        for name, values in self.variables.items():
            row = VARIABLES.get(name)
            if row is None or (name not in variables if variables is not None else not row.page):
                continue
            if set(row.dimensions[1:]) <= set(TRACKED):
                found |= dict(named_numbers(name, row.dimensions[1:], np.asarray(values), self.coordinates))
        return found


Metric = Callable[[Look], Any]
OnLook = Callable[[Look], Any]


def named_numbers(
    name: str, dims: Sequence[str], values: np.ndarray, coordinates: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[str, float]]:
    """Each finite number of an array with its name: `role_score/L0H2/induction`."""
    entries = [list(coordinates.get(dim, range(1, size + 1))) for dim, size in zip(dims, values.shape, strict=True)]
    for place, entry in zip(np.ndindex(values.shape), itertools.product(*entries), strict=True):
        if np.isfinite(values[place]):
            yield "/".join([name, *_entry_names(dict(zip(dims, entry, strict=True)))]), float(values[place])


def _entry_names(entry: Mapping[str, Any]) -> Iterator[str]:
    """A head by its usual short name, block and head counted from 0; anything else by its own."""
    for dim, value in entry.items():
        if dim == "block" and "head" in entry:
            yield f"L{int(value) - 1}H{int(entry['head']) - 1}"
        elif dim != "head" or "block" not in entry:
            counted = DIMENSIONS[dim].entries == "counted from one"
            yield f"{dim}_{value}" if counted else str(value)


def checked_on_look(on_look: OnLook | None) -> OnLook | None:
    """The function, or `None`; `ConfigError` where it is something else, such as the name of a tracker."""
    if on_look is not None and not callable(on_look):
        raise ConfigError(
            f"on_look = {on_look!r:.60} cannot be called; give a function of a look, such as headwise.Tracker('wandb')"
        )
    return on_look


def call_on_look(on_look: OnLook | None, look: Look) -> None:
    """Call a person's own function; what it raises is said in one sentence."""
    if on_look is None:
        return
    try:
        on_look(look)
    except Exception as error:  # what other people's code raises is open-ended
        raise ConfigError(f"on_look failed at step {look.step}: {cause(error)}") from error


def cause(error: Exception) -> str:
    """An error of somebody's own code in a few words."""
    text = on_one_line(str(error)).strip()
    return f"{type(error).__name__}: {text}"[:300] if text else type(error).__name__
