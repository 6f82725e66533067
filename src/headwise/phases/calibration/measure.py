"""Every number of docs/detection.md, computed on the synthetic suite: plain values, stored as docs/detection.json.

With the numbers stand the thresholds and the generator's ranges that they were computed with, so that a change of
either shows that the numbers are out of date.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from headwise.phases.calibration.calibrate import CASES, SCORING_SEED, SEED, halves, trials
from headwise.phases.calibration.scoring import Exam, moved_at_most_one_interval, prepare, score
from headwise.phases.calibration.synthetic import Ranges, suite
from headwise.phases.config import DEFAULT
from headwise.phases.views import VIEWS, ViewName

SCHEMA = 1
ELSEWHERE = (
    "speed_up",
    "lift",
    "smallest_drop",
    "acquired",
    "lost",
    "fallen",
    "shaken",
    "log_time",
    "vote",
    "false_alarm",
    "apart",
    "closer",
)
"""Thresholds that no curve of the suite is read with: of losses without a lower end, roles, events and n-grams."""
PENALTY_FACTORS = (0.1, 0.3, 1.0, 3.0, 10.0)
OF_PENALTY: tuple[ViewName, ...] = ("function", "loss")
INTERVALS = (1, 2, 3, 4)


def measure(cases: int = CASES) -> dict[str, Any]:
    """Merits of candidate thresholds on the calibration half, scores and their sensitivity on the scoring half."""
    chosen_on = halves(prepare(suite(cases, SEED)))[0]
    scored_on = halves(prepare(suite(cases, SCORING_SEED)))[1]
    staged = [exam for exam in scored_on if exam.case.kind == "staged"]
    return {
        "schema": SCHEMA,
        **settings(),
        "cases": cases,
        "scored": len(scored_on),
        "scores": {name: asdict(score(scored_on, name, DEFAULT)) for name in VIEWS},
        "stable": {
            name: sum(moved_at_most_one_interval(exam, name, DEFAULT) for exam in staged) / len(staged)
            for name in VIEWS
        },
        "merits": {key: {f"{v:g}": m for v, m in found.items()} for key, found in trials(chosen_on, DEFAULT).items()},
        "penalties": _penalties(scored_on),
        "intervals": _intervals(scored_on),
    }


def settings() -> dict[str, Any]:
    """What the numbers depend on, as plain values."""
    return {
        "seed": SEED,
        "scoring_seed": SCORING_SEED,
        "thresholds": {key: value for key, value in DEFAULT.model_dump(mode="json").items() if key not in ELSEWHERE},
        "ranges": Ranges().model_dump(mode="json"),
    }


def _penalties(exams: Sequence[Exam]) -> list[dict[str, Any]]:
    rows = []
    for factor in PENALTY_FACTORS:
        changed = DEFAULT.changed({"penalty": DEFAULT.penalty * factor})
        scores = {name: asdict(score(exams, name, changed)) for name in OF_PENALTY}
        rows.append({"factor": factor, "penalty": changed.penalty, "scores": scores})
    return rows


def _intervals(exams: Sequence[Exam]) -> list[dict[str, Any]]:
    rows = []
    for every in INTERVALS:
        thinned = [Exam(exam.case, exam.heads, every) for exam in exams]
        rows.append({"every": every, "scores": {name: asdict(score(thinned, name, DEFAULT)) for name in VIEWS}})
    return rows
