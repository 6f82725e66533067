"""What a report says, as events that can be compared with the truth; reads the report's JSON alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from headwise.zoo.truth.event import What

ROLE_LAGS = {"self": 1, "previous": 2}
"""Roles that are a lag under another name."""


@dataclass(frozen=True)
class Statement:
    """One statement of a report; `lags` is empty where it names none, `block` 0 where it does not say."""

    what: What
    start: float
    end: float
    block: int = 0
    head: int = 0
    lags: frozenset[int] = frozenset()


def statements(report: Mapping[str, Any]) -> list[Statement]:
    """Every statement of the kinds that the truth knows; a lag that is told under two names counts once."""
    return list(dict.fromkeys([*_roles(report), *_exchanges(report), *_competitions(report), *_boundaries(report)]))


def anything(report: Mapping[str, Any]) -> list[str]:
    """Which kinds of statement a report makes that a run without events must not have."""
    found = [name for name in ("offshoots", "adds", "transitions") if report.get(name)]
    if list(_competitions(report)):
        found.append("competition")
    if any(len(stages) > 1 for stages in report["stages"].values()):
        found.append("stages")
    return found


def _roles(report: Mapping[str, Any]) -> Iterator[Statement]:
    for role in report.get("roles", ()):
        name, block, head = str(role["role"]), int(role.get("block", 1)), int(role["head"])
        start, end = _interval(role, role["start"], role["start"])
        if name == "induction":
            yield Statement("induction", start, end, block, head)
        elif name in ROLE_LAGS or re.fullmatch(r"lag -?\d+", name):
            lag = ROLE_LAGS.get(name) or int(name.removeprefix("lag "))
            yield Statement("lag", start, end, block, head, frozenset([lag]))


def _exchanges(report: Mapping[str, Any]) -> Iterator[Statement]:
    lags_of = _pattern_lags(report)
    names: tuple[tuple[str, What], ...] = (("offshoots", "leaving"), ("adds", "adding"))
    for key, what in names:
        for event in report.get(key, ()):
            start, end = _interval(event, event["step"], event["step"])
            lags = lags_of.get(str(event["to"]), _written_lags(str(event["to"])))
            yield Statement(what, start, end, int(event.get("block", 1)), int(event["head"]), frozenset(lags))


def _competitions(report: Mapping[str, Any]) -> Iterator[Statement]:
    """One for each block where the report lists them, else the one phase of the run."""
    listed = report.get("competitions")
    for phase in [report.get("competitive")] if listed is None else listed:
        if phase and phase.get("start") is not None:
            yield Statement("competition", float(phase["start"]), float(phase["end"]), int(phase.get("block", 0)))


def _boundaries(report: Mapping[str, Any]) -> Iterator[Statement]:
    stages = report["stages"]["loss"]
    for before, after in pairwise(stages):
        yield Statement("boundary", *_interval(after, before["end"], after["start"]))


def _interval(event: Mapping[str, Any], start: float, end: float) -> tuple[float, float]:
    given = event.get("interval") or (start, end)
    return float(given[0]), float(given[1])


def _pattern_lags(report: Mapping[str, Any]) -> dict[str, list[int]]:
    """Lags of every pattern that the report lists."""
    patterns = report.get("patterns") or report.get("specialised", {}).get("patterns") or ()
    return {str(pattern["pattern"]): list(pattern["lags"]) for pattern in patterns}


def _written_lags(label: str) -> set[int]:
    """`lag 5`, `1, 3`, `2-4`: the lags that a label names itself."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:\s*[-–]\s*(\d+))?", label):
        found |= set(range(int(first), int(last or first) + 1))
    return found
