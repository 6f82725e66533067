"""The order in which pages and figures show the heads of several seeds, so that both colour them alike.

A role is a head of the reference seed: role k of any seed is the head that does what the reference's head k does. One
run alone keeps its own order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headwise.core.head_counts import head_counts
from headwise.phases.detection import detect_seeds
from headwise.phases.seeds_report import SeedsReport

if TYPE_CHECKING:
    import xarray as xr

Roles = list[list[int]]
"""For each block the head, counted from 0, in each role."""


def head_roles(runs: Sequence[xr.Dataset]) -> list[Roles]:
    """The roles of each run's heads, the runs being seeds of one experiment."""
    if len(runs) == 1:
        return [own_order(runs[0])]
    return roles_in(detect_seeds(runs), runs)


def roles_in(report: SeedsReport, runs: Sequence[xr.Dataset]) -> list[Roles]:
    """The roles that a report found; a run whose heads it could not read keeps its own order."""
    return [
        [[head - 1 for head in block] for block in found] or own_order(run)
        for found, run in zip(report.roles, runs, strict=True)
    ]


def own_order(run: xr.Dataset) -> Roles:
    """Every head in its own place."""
    return [list(range(count)) for count in head_counts(run)]
