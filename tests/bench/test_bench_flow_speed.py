"""How much faster ensembles of flows are than a loop over the full system."""

from __future__ import annotations

import pytest

from headwise.bench import flow_speed
from headwise.bench.flow_speed import SpeedReport, measure_speed
from headwise.flow.config import FlowConfig


def test_every_flow_is_solved_once_and_the_loop_is_extrapolated(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[int] = []
    monkeypatch.setattr(flow_speed, "ensemble", lambda flows, workers: solved.extend(seed for _, seed in flows))
    monkeypatch.setattr(flow_speed, "loop_once", lambda config, seed: 1.0 + seed)
    seen: list[tuple[int, int]] = []
    report = measure_speed(FlowConfig(), flows=10, sample=3, workers=2, progress=lambda *done: seen.append(done))
    assert solved == list(range(10))
    assert seen == [(3, 10), (6, 10), (10, 10)]
    assert report.loop_seconds_per_flow == pytest.approx(2.0)
    assert SpeedReport(10, 2, 4.0, 2.0, 3).ratio == pytest.approx(5.0)


def test_a_small_measurement_runs() -> None:
    report = measure_speed(FlowConfig(T=10, h=2, t_end=4.0), flows=4, sample=2, workers=1)
    assert report.ensemble_seconds > 0
    assert report.loop_seconds_per_flow > 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_an_ensemble_is_twenty_times_faster_than_the_loop() -> None:
    """1,000 flows (T = 40, h = 3, to t = 3000, rtol 1e-9) on two processes."""
    report = measure_speed(FlowConfig(), flows=1000, sample=6, workers=2)
    assert report.ratio >= 20, report
