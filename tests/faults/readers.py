"""Every reader of a stored run, and what may be read of one: the truth, a beginning of it, or a refusal."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

import headwise
from headwise.core.errors import ConfigError
from headwise.store import RunDirectory
from tests.faults.counts import Found
from tests.faults.workplace import EXIT_CODES, Answer, command


def read(run: Path) -> xr.Dataset | None:
    """The trajectory of a run; `None` where it has none yet. Damage raises `CorruptData`."""
    try:
        return headwise.load(run)
    except ConfigError:
        return None


def is_beginning(part: xr.Dataset, whole: xr.Dataset) -> bool:
    """Whether the one holds the first steps and snapshots of the other, value for value."""
    if set(part.variables) - set(whole.variables):
        return False
    for axis in ("step", "snapshot"):
        if axis in part.coords:
            there, all_of_them = part[axis].values, whole[axis].values
            if not np.array_equal(there, all_of_them[: len(there)]):
                return False
    lengths = {axis: slice(part.sizes[axis]) for axis in ("step", "snapshot") if axis in part.sizes}
    cut = whole.isel({axis: length for axis, length in lengths.items() if axis in whole.dims})
    return all(part[name].identical(cut[name]) for name in part.data_vars)


def statuses(root: Path) -> dict[Path, str]:
    """What `list` says of every run below a root, after reading every byte."""
    return {record.path: record.status for record in headwise.list_runs(root, care="full")}


def verify(*places: Path) -> Answer:
    """`headwise verify`."""
    return command("verify", *map(str, places))


def commands_on(run: Path, to: Path) -> dict[str, list[str]]:
    """A command line for every command that reads a stored run."""
    return {
        "show": ["show", str(run), "--json"],
        "phases": ["phases", str(run), "--json"],
        "report": ["report", str(run), "-o", str(to / "page.html")],
        "collect": ["collect", str(run.parents[1]), "-o", str(to / "collected")],
        "list": ["list", "--runs", str(run.parents[1]), "--json"],
        "reproduce": ["reproduce", "--run", str(run), "--json"],
        "verify": ["verify", str(run), "--json"],
    }


def require_tidy(answer: Answer, about: str) -> None:
    """A command's end is a known code; a refusal is one line and says something."""
    if answer.code not in EXIT_CODES:
        raise Found("traceback", f"{about} ended with {answer.code}: {answer.last}")
    if "Traceback (most recent call last)" in answer.err:
        raise Found("traceback", f"{about}: {answer.last}")
    if answer.code in (2, 3) and not answer.last.startswith("headwise: "):
        raise Found("traceback", f"{about} was refused without a line: {answer.err[-300:]!r}")


def require_beginning(run: Path, whole: xr.Dataset, *, finished: bool) -> None:
    """What is read of a run is the truth: a beginning of it, all of it where the run is over."""
    found = read(run)
    if found is None:
        if finished:
            raise Found("lost", f"{run.name} is over and holds nothing")
        return
    if not is_beginning(found, whole):
        raise Found("wrong", f"{run.name} gives other values than were measured")
    if finished and any(found.sizes[axis] != whole.sizes[axis] for axis in whole.sizes):
        raise Found("wrong", f"{run.name} is called finished and holds {dict(found.sizes)} of {dict(whole.sizes)}")


def require_same(one: Path, other: Path) -> None:
    """Two finished runs hold the same values and end in the same state, in whatever files they lie.

    A run that saved its state when it was asked to stop has its measurements in other files than one never stopped.
    """
    left, right = headwise.load(one), headwise.load(other)
    if not left.identical(right):
        raise Found("wrong", f"{other.name} ends with other values")
    here, there = RunDirectory(one).latest_checkpoint(), RunDirectory(other).latest_checkpoint()
    if (here is None) != (there is None):
        raise Found("wrong", f"{other.name} has no state to go on from")
    if here is None or there is None:
        return
    same = here.state == there.state and here.arrays.keys() == there.arrays.keys()
    if not same or any(here.arrays[name].tobytes() != there.arrays[name].tobytes() for name in here.arrays):
        raise Found("wrong", f"{other.name} ends in another state")
