"""Known values of two starts that need no random numbers, by two different solvers."""

from __future__ import annotations

import numpy as np
import pytest

from headwise.flow.config import FlowConfig
from headwise.flow.ensemble import ensemble
from headwise.flow.simulate import SolvedFlow, solve_flow, summarise
from headwise.flow.stages import offshoots, stage_times


@pytest.fixture(scope="module", params=["DOP853", "LSODA"])
def start_b(request: pytest.FixtureRequest) -> SolvedFlow:
    return solve_flow(FlowConfig(start="B", method=request.param))


@pytest.fixture(scope="module", params=["DOP853", "LSODA"])
def start_a(request: pytest.FixtureRequest) -> SolvedFlow:
    return solve_flow(FlowConfig(start="A", method=request.param))


def losses(flow: SolvedFlow, *times: float) -> np.ndarray:
    return flow.heads(np.array(times)).loss


def test_plateaus_are_exact(start_a: SolvedFlow) -> None:
    np.testing.assert_allclose(start_a.target.plateaus, [6.12105, 1.945, 0.5, 0.0], rtol=1e-14, atol=0)


def test_start_a(start_a: SolvedFlow) -> None:
    t1, t2, t3 = stage_times(start_a.target, start_a.heads_at, start_a.solution)
    assert t1 == pytest.approx(21.758, abs=5e-3)
    assert (t2, t3) == (None, None)
    np.testing.assert_allclose(losses(start_a, 25, 300, 3000), [2.166659, 1.947919, 1.945249], atol=1e-5)
    now = start_a.heads(np.array([25.0]))
    np.testing.assert_allclose(now.attention[0, :, 0], 0.414990, atol=1e-5)
    np.testing.assert_allclose(now.alignment[0, :, 0], 2.231773, atol=1e-5)


def test_coupled_potential_tends_to_its_limit() -> None:
    flow = solve_flow(FlowConfig(start="A", system="coupled", t_end=1e5, method="LSODA"))
    target, loss = flow.target, losses(flow, 1e5)[0]
    potential = (0.5 * np.sum(target.strengths**2) - loss) / 3
    assert potential == pytest.approx(1.392017, abs=1e-5)


def test_values_overshoot_the_bound_of_the_boundedness_proof(start_a: SolvedFlow) -> None:
    times = np.linspace(20, 30, 2001)
    norm = np.linalg.norm(start_a.heads(times).coefficients[:, 0], axis=-1) / (2.89 / 3)
    assert norm.max() == pytest.approx(2.3343, abs=1e-3)
    assert times[norm.argmax()] == pytest.approx(24.61, abs=0.02)


def test_start_b(start_b: SolvedFlow) -> None:
    times = stage_times(start_b.target, start_b.heads_at, start_b.solution)
    np.testing.assert_allclose(times[:1], [21.742], atol=0.01)
    np.testing.assert_allclose(times[1:2], [167.452], atol=0.05)
    np.testing.assert_allclose(times[2:], [1042.39], atol=0.5)
    left = offshoots(start_b.heads_at, start_b.solution, times)
    assert [(o.head, o.source, o.target) for o in left] == [(3, 1, 2), (1, 1, 3)]
    np.testing.assert_allclose(losses(start_b, 25, 300), [2.165732, 0.504295], atol=1e-5)
    last = start_b.heads(np.array([3000.0])).attention[0]
    np.testing.assert_allclose(last[[1, 2, 0], [0, 1, 2]], [0.9655, 0.8798, 0.4478], atol=2e-3)


def test_summary_of_start_b(start_b: SolvedFlow) -> None:
    summary = summarise(start_b)
    dips = {(dip["head"], dip["group"]): dip["value"] for dip in summary["dips"]}
    assert dips[2, 2] == pytest.approx(-0.5523, abs=5e-3)
    assert dips[2, 3] == pytest.approx(-1.2337, abs=5e-3)
    assert summary["predicted"]["t2_head"] == 3
    assert summary["predicted"]["t1"] == pytest.approx(21.742, abs=0.01)
    assert summary["predicted"]["t2"] == pytest.approx(167.452, rel=0.08)
    assert set(summary) == {"stage_times", "offshoots", "plateaus", "loss_at", "dips", "predicted"}
    assert set(summary["offshoots"][0]) == {"step", "head", "from", "to"}


def test_twenty_seeds_learn_in_order_by_distinct_heads() -> None:
    assert sum(flow.in_order for flow in ensemble([(FlowConfig(), seed) for seed in range(20)], workers=1)) == 20


def test_order_needs_unequal_strengths() -> None:
    ratios = (1.0, 1.05, 1.2)
    flows = ensemble([(FlowConfig(m=m, t_end=800), seed) for m in ratios for seed in range(16)], workers=1)
    kept = {m: sum(flow.in_order for flow in flows[16 * i : 16 * i + 16]) for i, m in enumerate(ratios)}
    assert kept[1.0] < 8
    assert min(kept[1.05], kept[1.2]) >= 15
