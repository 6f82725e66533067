"""How good each threshold of the detector is, against a few other values of it, one threshold at a time.

The search is deliberately small: it shows how flat the optimum is and does not look for a better one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headwise.phases.calibration.scoring import Exam, Score, score
from headwise.phases.config import Thresholds
from headwise.phases.views import ViewName

CASES = 600
SEED = 0
"""The detector and its thresholds were developed with all cases of this seed in view."""
SCORING_SEED = 2
"""Cases of this seed were first drawn when everything was fixed; what is changed because of them needs another seed."""
CANDIDATES: Mapping[str, tuple[float, ...]] = {
    "penalty": (0.0005, 0.001, 0.002, 0.004, 0.01),
    "floor": (0.01, 0.02, 0.04),
    "drop": (0.08, 0.12, 0.2),
    "shoulder": (0.01, 0.02, 0.04, 0.08),
    "band": (0.1, 0.15, 0.2, 0.25),
    "noise": (3.0, 5.0, 8.0),
    "plateau": (0.02, 0.03, 0.04, 0.05),
    "dwell": (0.02, 0.04, 0.06),
    "hold": (0.2, 0.25, 0.3),
    "release": (0.1, 0.15, 0.2, 0.24),
    "copied": (0.3, 0.35, 0.4),
}
OF_HEADS = ("dwell", "hold", "release", "copied")


def halves(exams: Sequence[Exam]) -> tuple[list[Exam], list[Exam]]:
    """The calibration half and the scoring half; each has as many staged as stage-free cases."""
    return [e for e in exams if e.case.name // 2 % 2 == 0], [e for e in exams if e.case.name // 2 % 2 == 1]


def merit(scores: Sequence[Score]) -> float:
    """What calibration maximises: right counts and found boundaries, a false stage costs as much as two misses."""
    return min(s.right_count + s.recall - 2 * s.false_stages for s in scores)


def trial(exams: Sequence[Exam], key: str, value: float, base: Thresholds) -> float:
    """The merit with one threshold changed, over the views that use it."""
    changed = base.changed({key: value})
    names: tuple[ViewName, ...] = ("heads",) if key in OF_HEADS else ("function", "loss")
    return merit([score(exams, name, changed) for name in names])


def trials(exams: Sequence[Exam], base: Thresholds) -> dict[str, dict[float, float]]:
    """The merit of every candidate value of every threshold, one at a time."""
    return {key: {value: trial(exams, key, value, base) for value in values} for key, values in CANDIDATES.items()}
