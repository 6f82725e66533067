"""What a causal claim reads in a trajectory: which head takes which group up, when, and the excess loss at a step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import xarray as xr

Enough = Callable[["xr.Dataset"], bool]
"""Whether the part of a run that there is answers what is asked of it."""

TAKEN = 0.5
"""Share of a head's attention from which on it has taken a group up."""


class Taking(NamedTuple):
    """A head (from 1) takes a group (from 1) up at a step."""

    step: int
    head: int
    group: int


def takings(trajectory: xr.Dataset, *, after: int = 0) -> list[Taking]:
    """When each head first has more than half of its attention on a group at a step after `after`, in order."""
    shares = trajectory["attention_by_group"].isel(block=0).transpose("step", "head", "group").values
    steps = trajectory["step"].values
    found = []
    for head in range(shares.shape[1]):
        for group in range(shares.shape[2]):
            on = (shares[:, head, group] > TAKEN) & (steps > after)
            if on.any():
                found.append(Taking(int(steps[on.argmax()]), head + 1, group + 1))
    return sorted(found)


def first_taking(trajectory: xr.Dataset, group: int, *, after: int = 0, but: Sequence[int] = ()) -> Taking | None:
    """The first head, of those not in `but`, that takes a group up after a step."""
    return next((t for t in takings(trajectory, after=after) if t.group == group and t.head not in but), None)


def next_taking(trajectory: xr.Dataset, *, after: int) -> Taking | None:
    """The first head that takes up another group than the first after a step."""
    return next((t for t in takings(trajectory, after=after) if t.group > 1), None)


def excess_at(trajectory: xr.Dataset, step: int) -> float:
    """The excess loss of the last evaluation up to a step."""
    before = trajectory["excess_loss"].values[trajectory["step"].values <= step]
    return float(before[-1])


def on_grid(step: int) -> int:
    """The measured step at or before this one."""
    return step - step % 10


def only_the_end(trajectory: xr.Dataset) -> bool:
    """For runs of which all is asked."""
    return False


def once_taken(group: int, *, after: int = 0, but: Sequence[int] = (), reached: int = 0) -> Enough:
    """Enough once a head, of those not in `but`, has taken a group up, and step `reached` is measured."""

    def enough(trajectory: xr.Dataset) -> bool:
        found = first_taking(trajectory, group, after=after, but=but)
        return found is not None and int(trajectory["step"].values[-1]) >= reached

    return enough


def once_measured(step: int) -> Enough:
    """Enough once a step is measured."""
    return lambda trajectory: int(trajectory["step"].values[-1]) >= step
