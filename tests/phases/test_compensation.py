"""Dips of known depth, and the absence of dips, which must not be reported as one."""

from __future__ import annotations

import numpy as np
import pytest
from phase_examples import ramp, three_stage_run

from headwise.core.events import Offshoot
from headwise.phases.compensation import find_compensation
from headwise.phases.detection import detect

STEPS = np.linspace(0, 1000, 201)
LEAVES = Offshoot(400.0, 1, 1, 2)


def coefficients(staying: np.ndarray, noise: float = 0.0) -> np.ndarray:
    values = np.zeros((201, 2, 2))
    values[:, 0, 1] = 2.0 * ramp(STEPS, 400)
    values[:, 1, 1] = staying
    return values + noise * np.random.default_rng(0).normal(size=values.shape)


def test_a_dip_that_recovers() -> None:
    dip = 0.1 - 0.5 * np.exp(-0.5 * ((STEPS - 500) / 30) ** 2)
    (found,) = find_compensation(STEPS, coefficients(dip), [LEAVES], [1, 2])
    assert found.gain == pytest.approx(2.0, rel=0.01)
    (only,) = found.dips
    assert only.head == 2
    assert only.before == pytest.approx(0.1, abs=1e-6)
    assert only.depth == pytest.approx(-0.25, abs=0.005)
    assert only.step == pytest.approx(500, abs=5)
    assert only.duration == pytest.approx(2 * 30 * np.sqrt(2 * np.log(2)), abs=10)
    assert only.recovers


def test_a_dip_that_stays() -> None:
    (found,) = find_compensation(STEPS, coefficients(-0.4 * ramp(STEPS, 420)), [LEAVES], [1, 2])
    assert found.dips[0].depth == pytest.approx(-0.2, abs=0.005)
    assert not found.dips[0].recovers


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_no_dip_is_no_compensation(noise: float) -> None:
    for staying in (np.zeros_like(STEPS), 0.3 * ramp(STEPS, 430)):
        (found,) = find_compensation(STEPS, coefficients(staying, noise), [LEAVES], [1, 2])
        assert found.dips[0].depth >= 0
        assert found.dips[0].step is None


def test_the_value_before_does_not_depend_on_the_spacing_of_evaluations() -> None:
    steps = np.unique(np.concatenate([np.linspace(0, 50, 400), np.linspace(50, 1000, 96)]))
    values = np.zeros((len(steps), 2, 2))
    values[:, 0, 1] = ramp(steps, 400)
    values[:, 1, 1] = 0.4 * np.exp(-steps / 20) - 0.3 * ramp(steps, 450)
    (found,) = find_compensation(steps, values, [LEAVES], [1, 2])
    assert found.dips[0].before == pytest.approx(0.4 * np.exp(-10), abs=1e-3)


def test_who_leaves_later_counts_only_until_then() -> None:
    report = detect(three_stage_run())
    first, second = report.compensation
    assert first.offshoot.target == 2
    assert first.deepest is not None
    assert first.deepest.head == 1
    assert first.deepest.depth == pytest.approx(-0.3 / 1.2, abs=0.02)
    assert first.deepest.recovers
    assert second.deepest is not None
    assert second.deepest.depth == pytest.approx(-0.45 / 1.5, abs=0.02)
    assert not second.deepest.recovers
