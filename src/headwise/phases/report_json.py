"""The parts of a report as plain values for JSON; heads, blocks and groups count from 1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from headwise.core.events import Offshoot
from headwise.phases.acquired_roles import RoleEvent
from headwise.phases.climbs import Climb
from headwise.phases.compensation import Compensation
from headwise.phases.function import FunctionView
from headwise.phases.heads import Copying
from headwise.phases.patterns import Pattern
from headwise.phases.rises import Interval
from headwise.phases.transitions import Transition
from headwise.phases.undecided import Undecided
from headwise.phases.views import Stage

SCHEMA = 1
"""Version of a report's JSON: it goes up when a key changes its name or its meaning, not when one is added."""


def stage_json(stage: Stage) -> dict[str, Any]:
    """One stage of one view."""
    return {
        "start": stage.start,
        "end": stage.end,
        "label": stage.label,
        "score": stage.score,
        "interval": interval_json(stage.interval, stage.start),
    }


def interval_json(interval: Interval | None, step: float) -> list[float]:
    """The time an event takes, [from, to]; the moment itself where no more is known."""
    return list(interval) if interval is not None else [step, step]


def role_json(role: RoleEvent) -> dict[str, Any]:
    """One role of one head."""
    return {**asdict(role), "interval": list(role.interval)}


def transition_json(transition: Transition) -> dict[str, Any]:
    """One transition: its parts in `what`, in time order."""
    return {
        "start": transition.start,
        "end": transition.end,
        "interval": list(transition.interval),
        "what": [
            {
                "step": part.step,
                "what": part.what,
                "kind": part.kind,
                "block": part.block,
                "head": part.head,
                "interval": list(part.interval),
            }
            for part in transition.parts
        ],
    }


def climb_json(climb: Climb) -> dict[str, Any]:
    """One climb of the loss."""
    return {**asdict(climb), "interval": list(climb.interval)}


def undecided_json(item: Undecided) -> dict[str, Any]:
    """One statement that stays open."""
    return asdict(item)


def block_json(block: int, *, several_blocks: bool) -> dict[str, int]:
    """The block of an event, named only where there are several."""
    return {"block": block} if several_blocks else {}


def offshoot_json(offshoot: Offshoot, *, several_blocks: bool) -> dict[str, Any]:
    """One offshoot."""
    return {
        "step": offshoot.step,
        "head": offshoot.head,
        "from": offshoot.source,
        "to": offshoot.target,
        **block_json(offshoot.block, several_blocks=several_blocks),
        "interval": interval_json(offshoot.interval, offshoot.step),
    }


def copying_json(copying: Copying, *, block: int, several_blocks: bool) -> dict[str, Any]:
    """A stretch of time in which a head copies one pattern."""
    return {
        "head": copying.head,
        "pattern": copying.label,
        "start": copying.start,
        "end": copying.end,
        **block_json(block, several_blocks=several_blocks),
    }


def compensation_json(item: Compensation, *, several_blocks: bool) -> dict[str, Any]:
    """One offshoot with the deepest dip of the heads that stay, and each of their dips."""
    deepest = item.deepest
    return {
        **offshoot_json(item.offshoot, several_blocks=several_blocks),
        "gain": item.gain,
        "depth": deepest.depth if deepest else None,
        "by": deepest.head if deepest else None,
        "at": deepest.step if deepest else None,
        "duration": deepest.duration if deepest else None,
        "recovers": deepest.recovers if deepest else None,
        "heads": [
            {
                "head": dip.head,
                "before": dip.before,
                "depth": dip.depth,
                "at": dip.step,
                "duration": dip.duration,
                "recovers": dip.recovers,
            }
            for dip in item.dips
        ],
    }


def pattern_json(pattern: Pattern) -> dict[str, Any]:
    """One pattern and its lags."""
    return {"pattern": pattern.label, "lags": list(pattern.lags)}


def predictors_json(function: FunctionView) -> dict[str, Any]:
    """N-gram predictors: stretches by nearest one, when the model is closest to each, which cannot be told apart."""
    return {
        "nearest": [
            {
                "predictor": stretch.predictor,
                "start": stretch.start,
                "end": stretch.end,
                "interval": list(stretch.interval),
                "nats": stretch.nats,
                "at": stretch.step,
            }
            for stretch in function.nearest
        ],
        "closest": [
            {
                "predictor": point.predictor,
                "at": point.step,
                "interval": list(point.interval),
                "nats": point.nats,
                "passed": point.passed,
            }
            for point in function.closest
        ],
        "alike": [list(group) for group in function.alike],
    }
