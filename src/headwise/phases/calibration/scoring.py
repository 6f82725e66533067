"""How well the views find what synthetic cases are known to contain.

The loss view is scored by its plateaus, which is what the calibrated thresholds are for. Drops, by which it reads a
loss without plateaus, have thresholds of their own and would hide what a bad value does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwise.core.errors import ConfigError
from headwise.phases.calibration.synthetic import Case
from headwise.phases.config import Thresholds
from headwise.phases.function import read_function
from headwise.phases.heads import read_heads
from headwise.phases.plateaus import find_plateaus
from headwise.phases.series import finite_series
from headwise.phases.sources import HeadSource, head_source
from headwise.phases.views import Stage, View, ViewName

TOLERANCE = 0.05
"""A boundary is found when it is within this share of the run."""


@dataclass(frozen=True)
class Exam:
    """A case with what does not depend on thresholds computed once, and only every `every`-th evaluation kept."""

    case: Case
    heads: HeadSource
    every: int

    @property
    def kept(self) -> slice:
        return slice(None, None, self.every)


@dataclass(frozen=True)
class Score:
    """Shares of right counts and of found boundaries; errors are in shares of the run."""

    staged: int
    stage_free: int
    right_count: float
    false_stages: float
    recall: float
    precision: float
    median_error: float
    large_error: float


def prepare(cases: Sequence[Case], every: int = 1) -> list[Exam]:
    """Compute the pattern shares of each case once."""
    exams = []
    for case in cases:
        source = head_source(case.trajectory, "given")
        if isinstance(source, str):
            raise ConfigError(source)
        exams.append(Exam(case, source, every))
    return exams


def read(exam: Exam, name: ViewName, thresholds: Thresholds) -> View:
    """One view of one case."""
    trajectory = exam.case.trajectory
    steps = trajectory["step"].values[exam.kept]
    if name == "loss":
        return _plateaus_alone(steps, trajectory["excess_loss"].values[exam.kept], thresholds)
    if name == "function":
        predictors = [str(p) for p in trajectory["predictor"].values]
        return read_function(steps, trajectory["kl"].values[exam.kept], predictors, thresholds)
    return read_heads(steps, exam.heads.shares[exam.kept, 0], exam.heads.patterns, thresholds)


def _plateaus_alone(steps: np.ndarray, excess: np.ndarray, thresholds: Thresholds) -> View:
    plateaus = find_plateaus(finite_series(steps, excess)[0], thresholds)
    if len(plateaus) < 2:
        return View()
    return View(tuple(Stage(one.start, one.end, "plateau", one.flatness, one.interval) for one in plateaus))


def score(exams: Sequence[Exam], name: ViewName, thresholds: Thresholds) -> Score:
    """One view over all cases."""
    right: list[bool] = []
    false: list[bool] = []
    errors: list[float] = []
    spurious: list[bool] = []
    for exam in exams:
        view = read(exam, name, thresholds)
        truth = np.array(exam.case.boundaries)
        found = np.array(view.boundaries)
        length = float(exam.case.trajectory["step"][-1])
        if exam.case.kind == "stage-free":
            false.append(len(found) > 0)
            continue
        right.append(len(found) == len(truth))
        apart = np.abs(np.subtract.outer(truth, found)) / length
        errors += [float(row.min()) if len(row) else 1.0 for row in apart]
        spurious += [float(column.min()) > TOLERANCE for column in apart.T]
    near = np.array(errors) <= TOLERANCE
    hits = np.array(errors)[near]
    return Score(
        staged=len(right),
        stage_free=len(false),
        right_count=float(np.mean(right)),
        false_stages=float(np.mean(false)),
        recall=float(np.mean(near)),
        precision=1 - float(np.mean(spurious)) if spurious else 1.0,
        median_error=float(np.median(hits)) if len(hits) else float("nan"),
        large_error=float(np.quantile(hits, 0.95)) if len(hits) else float("nan"),
    )


def moved_at_most_one_interval(exam: Exam, name: ViewName, thresholds: Thresholds) -> bool:
    """Whether dropping every second evaluation keeps the stages and moves no boundary by more than a new interval."""
    thinned = Exam(exam.case, exam.heads, 2 * exam.every)
    whole, half = (np.array(read(e, name, thresholds).boundaries) for e in (exam, thinned))
    steps = exam.case.trajectory["step"].values[thinned.kept]
    return len(whole) == len(half) and bool(np.all(np.abs(whole - half) <= np.diff(steps).max() * (1 + 1e-9)))
