"""The calibrated detector on the synthetic suite: a sample here, all of it in the slow test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from headwise.core.markdown import without_section
from headwise.phases.calibration.calibrate import CANDIDATES, CASES, SCORING_SEED, SEED, halves, trial
from headwise.phases.calibration.measure import INTERVALS, PENALTY_FACTORS, measure, settings
from headwise.phases.calibration.page import render
from headwise.phases.calibration.scoring import Exam, moved_at_most_one_interval, prepare, read, score
from headwise.phases.calibration.synthetic import Ranges, draw_case, suite
from headwise.phases.config import DEFAULT
from headwise.phases.detection import detect
from headwise.phases.loss import read_loss
from headwise.phases.views import VIEWS, ViewName

DOCS = Path(__file__).parents[2] / "docs"
AGAIN = "python -m headwise.phases.calibration"


@pytest.fixture(scope="module")
def stored() -> dict[str, Any]:
    """The numbers behind the page."""
    found: dict[str, Any] = json.loads((DOCS / "detection.json").read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def sample() -> list[Exam]:
    """Cases of the seed that the thresholds were not developed on."""
    return halves(prepare(suite(120, SCORING_SEED)))[1]


def check(exams: list[Exam], name: ViewName, required: float = 0.95) -> None:
    result = score(exams, name, DEFAULT)
    assert result.right_count >= required
    assert result.recall >= required
    assert result.precision >= required
    assert result.false_stages <= 0.02


def refutable(count: int) -> float:
    """The share below which `count` cases refute a true rate of 95 % at the 1 % level."""
    return float(binom.ppf(0.01, count, 0.95)) / count


@pytest.mark.parametrize("name", VIEWS)
def test_a_sample_does_not_refute_each_view(sample: list[Exam], name: ViewName) -> None:
    """Thirty cases cannot show 95 %; the slow test on the whole half does."""
    check(sample, name, refutable(sum(exam.case.kind == "staged" for exam in sample)))


@pytest.mark.parametrize("name", VIEWS)
def test_thinning_moves_boundaries_by_at_most_one_interval(sample: list[Exam], name: ViewName) -> None:
    assert np.mean([moved_at_most_one_interval(exam, name, DEFAULT) for exam in sample]) >= 0.95


def test_departures_are_attributed_to_the_right_head() -> None:
    right = []
    for number in range(0, 40, 2):
        case = draw_case(number, SEED, Ranges())
        found = {(o.head, o.target) for o in detect(case.trajectory).offshoots}
        right.append(found == {(d.head, d.group) for d in case.departures})
    assert np.mean(right) >= 0.95


def test_scores_can_fail() -> None:
    """Thresholds that are wrong on purpose are seen to be wrong."""
    exams = prepare(suite(24, SEED))
    blind = DEFAULT.changed({"drop": 0.99})
    assert score(exams, "loss", blind).right_count < 0.5
    jumpy = DEFAULT.changed({"hold": 0.06, "release": 0.05, "copied": 0.06, "dwell": 0.005})
    assert score(exams, "heads", jumpy).false_stages > 0.02


def require_no_stage_by_drops(exams: list[Exam]) -> None:
    """A loss that has no plateaus is read by its drops; in the suite this gives no case another boundary."""
    for exam in exams:
        trajectory = exam.case.trajectory
        whole = read_loss(
            trajectory["step"].values[exam.kept], trajectory["excess_loss"].values[exam.kept], DEFAULT
        ).boundaries
        assert whole == read(exam, "loss", DEFAULT).boundaries, exam.case.name


def test_drops_add_no_stage_to_a_sample(sample: list[Exam]) -> None:
    require_no_stage_by_drops(sample)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [SEED, SCORING_SEED])
@pytest.mark.parametrize("every", [1, 2])
def test_drops_add_no_stage_to_the_suite(seed: int, every: int) -> None:
    require_no_stage_by_drops(prepare(suite(600, seed), every))


def test_cases_do_not_depend_on_the_size_of_the_suite() -> None:
    alone, among = draw_case(7, SEED, Ranges()), suite(9, SEED)[7]
    assert alone.boundaries == among.boundaries
    assert alone.trajectory.equals(among.trajectory)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", VIEWS)
def test_each_view_on_the_whole_suite(name: ViewName) -> None:
    """On the seed of development and on the seed of scoring."""
    for seed in (SEED, SCORING_SEED):
        exams = halves(prepare(suite(600, seed)))[1]
        check(exams, name)
        staged = [exam for exam in exams if exam.case.kind == "staged"]
        assert np.mean([moved_at_most_one_interval(exam, name, DEFAULT) for exam in staged]) >= 0.95


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_thresholds_are_those_that_calibration_chooses() -> None:
    """No candidate value does clearly better on the calibration half than the one in use."""
    exams = halves(prepare(suite(600, SEED)))[0]
    for key, values in CANDIDATES.items():
        own = getattr(DEFAULT, key)
        assert own in values
        results = {value: trial(exams, key, value, DEFAULT) for value in values}
        assert results[own] >= max(results.values()) - 0.03, (key, results)


def test_the_page_is_made_from_the_stored_numbers(stored: dict[str, Any]) -> None:
    page, _ = without_section((DOCS / "detection.md").read_text(encoding="utf-8"), "zoo")
    assert page == render(stored), f"run {AGAIN}"


def test_the_stored_numbers_are_of_the_present_detector(stored: dict[str, Any]) -> None:
    """Another threshold, range, candidate or seed makes the page out of date."""
    now = json.loads(json.dumps(settings()))
    assert {key: stored[key] for key in now} == now, f"run {AGAIN} --measure"
    assert stored["cases"] == CASES
    assert {key: [float(v) for v in values] for key, values in stored["merits"].items()} == {
        key: list(values) for key, values in CANDIDATES.items()
    }
    assert [one["factor"] for one in stored["penalties"]] == list(PENALTY_FACTORS)
    assert [one["every"] for one in stored["intervals"]] == list(INTERVALS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_stored_numbers_are_what_calibration_measures(stored: dict[str, Any]) -> None:
    assert render(json.loads(json.dumps(measure()))) == render(stored)
