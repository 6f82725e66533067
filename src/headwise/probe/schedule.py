"""When a watch looks: every so many steps, at steps that were given, or where something changes.

`auto` begins geometrically, with gaps of a tenth of the steps made so far. Where a look differs from the one before it,
the next gap is half of the last one, down to a hundredth of the steps made; where it does not, it doubles again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

import numpy as np

from headwise.core.errors import ConfigError

Every = int | Literal["auto"] | Sequence[int]

WIDEST, NARROWEST = 10, 100
"""Gaps of `auto` are at most a tenth and at least a hundredth of the steps made."""
MUCH, LITTLE = 0.1, 0.05
"""How far a share of attention, a role score or, by ratio, the loss moves between looks that differ, or do not."""


class Schedule(Protocol):
    """Says after which steps to look."""

    def due(self, step: int) -> bool:
        """Whether to look after this step."""
        ...

    def looked(self, step: int, record: Mapping[str, np.ndarray], loss: float) -> None:
        """A look was taken."""
        ...


class EveryFew:
    """Every so many steps."""

    def __init__(self, every: int) -> None:
        self.every = every

    def due(self, step: int) -> bool:
        return step % self.every == 0

    def looked(self, step: int, record: Mapping[str, np.ndarray], loss: float) -> None:
        """Nothing to learn from it."""


class AtSteps:
    """At the steps that were given."""

    def __init__(self, steps: Sequence[int]) -> None:
        self.steps = frozenset(int(step) for step in steps)

    def due(self, step: int) -> bool:
        return step in self.steps

    def looked(self, step: int, record: Mapping[str, np.ndarray], loss: float) -> None:
        """Nothing to learn from it."""


class WhereItChanges:
    """`auto`."""

    def __init__(self) -> None:
        self._next, self._gap = 0, 1
        self._last: tuple[Mapping[str, np.ndarray], float] | None = None

    def due(self, step: int) -> bool:
        return step >= self._next

    def looked(self, step: int, record: Mapping[str, np.ndarray], loss: float) -> None:
        moved = 0.0 if self._last is None else change(*self._last, record, loss)
        gap = self._gap // 2 if moved > MUCH else self._gap * 2 if moved < LITTLE else self._gap
        self._gap = max(1, step // NARROWEST, min(gap, step // WIDEST))
        self._next = step + self._gap
        self._last = {name: record[name] for name in ("attention_by_lag", "role_score")}, loss


def change(
    before: Mapping[str, np.ndarray], loss_before: float, now: Mapping[str, np.ndarray], loss_now: float
) -> float:
    """The largest difference between two looks: attention that changed its lag, a role score, the loss by ratio."""
    lags = np.abs(now["attention_by_lag"] - before["attention_by_lag"]).sum(-1) / 2
    roles = np.abs(now["role_score"] - before["role_score"])
    loss = abs(loss_now - loss_before) / max(abs(loss_before), 1e-12)
    return float(max(np.nan_to_num(lags).max(), np.nan_to_num(roles).max(), np.nan_to_num(loss)))


def make_schedule(every: Every) -> Schedule:
    """The schedule that `every` asks for; a mistake is an error that names it."""
    if every == "auto":
        return WhereItChanges()
    if isinstance(every, int | np.integer) and not isinstance(every, bool):
        if every < 1:
            raise ConfigError(f"every = {every} must be at least 1")
        return EveryFew(int(every))
    steps = list(every) if isinstance(every, Iterable) and not isinstance(every, str) else []
    if not steps or not all(isinstance(step, int | np.integer) and step >= 0 for step in steps):
        raise ConfigError(f"every = {every!r} must be a number of steps, 'auto' or a sequence of steps to look at")
    return AtSteps(steps)


def as_written(every: Every) -> int | str | list[int]:
    """What was asked for in plain values, as a run keeps it."""
    if isinstance(every, str):
        return every
    return int(every) if isinstance(every, int | np.integer) else list(map(int, every))
