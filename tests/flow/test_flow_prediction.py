"""Predicted stage times beside measured ones."""

from __future__ import annotations

import numpy as np
import pytest

from headwise.flow.config import FlowConfig
from headwise.flow.prediction import closed_form_t1, linear_response, predict
from headwise.flow.reduction import State
from headwise.flow.simplex import softmax
from headwise.flow.simulate import solve_flow
from headwise.flow.stages import stage_times
from headwise.flow.start import initial_logits
from headwise.flow.systems import all_heads
from headwise.flow.target import singleton_target


@pytest.mark.parametrize("h", [1, 2, 3])
def test_first_stage(h: int) -> None:
    """The coupled system gives t_1 exactly without noise, the closed form within 12 % at T = 40."""
    config = FlowConfig(h=h, start="A", t_end=200.0, strengths=tuple(1.7 ** (2 - k) for k in range(h)))
    flow = solve_flow(config)
    measured = stage_times(flow.target, flow.heads_at, flow.solution)[0]
    told = predict(flow.target, initial_logits(config, 0), t_end=200.0)
    assert told.t1 == pytest.approx(measured, rel=1e-6)
    assert told.t1_closed == pytest.approx(measured, rel=0.12)
    assert (told.t2, told.t2_head) == (None, None)


def test_closed_form_accuracy_over_lengths() -> None:
    """The closed form stays within -31 and +19 % from T = 10 to T = 160."""
    errors = []
    for positions in (10, 20, 80, 160):
        config = FlowConfig(T=positions, start="A", system="coupled", t_end=60.0 * positions / 10, method="LSODA")
        flow = solve_flow(config)
        measured = stage_times(flow.target, flow.heads_at, flow.solution)[0]
        told = closed_form_t1(flow.target, 3)
        assert measured is not None
        assert told is not None
        errors.append(told / measured - 1)
    assert min(errors) > -0.31
    assert max(errors) < 0.19


def test_closed_form_needs_a_single_position() -> None:
    config = FlowConfig(groups=((1, 2), (3,), (4,)), start="A")
    flow = solve_flow(config.changed({"t_end": 1.0}))
    assert closed_form_t1(flow.target, 3) is None
    assert closed_form_t1(singleton_target(np.array([1.0]), 1), 1) is None


def test_linear_response_is_the_derivative_of_the_flow() -> None:
    """Deviations that sum to zero, divided by their size, are what the response integrates."""
    target, size, t = singleton_target(np.array([2.0, 1.3]), 6), 1e-6, 12.0
    rng = np.random.default_rng(0)
    shape = rng.standard_normal((3, 6))
    shape -= shape.mean(0)
    shape -= shape.mean(-1, keepdims=True)
    system = all_heads(target, 3)
    from headwise.flow.solve import integrate

    y = system.pack(State(np.zeros((3, 2)), size * shape))
    end = system.unpack(integrate(system.field, y, t_end=t, rtol=1e-11, atol=1e-15).states[-1])
    spread = end.coefficients[:, 1] - end.coefficients[:, 1].mean()
    head = int(np.argmax(spread))
    found, named = linear_response(target, size * shape, t_end=1.5 * t, threshold=float(spread[head]))
    assert named == head + 1
    assert found is not None
    assert found <= t * (1 + 1e-4)
    later = linear_response(target, size * shape, t_end=1.5 * t, threshold=1.001 * float(spread.max()))[0]
    assert later is not None
    assert later >= found
    np.testing.assert_allclose(softmax(np.zeros(3)), 1 / 3)


@pytest.mark.parametrize(("m", "h", "positions", "noise"), [(1.5, 3, 20, 1e-5), (1.3, 2, 20, 1e-4), (1.7, 4, 20, 1e-6)])
def test_second_stage_by_linear_response(m: float, h: int, positions: int, noise: float) -> None:
    from headwise.flow.ensemble import ensemble

    config = FlowConfig(m=m, h=h, T=positions, noise_scale=noise, atol=1e-13, t_end=900.0)
    (flow,) = ensemble([(config, 5)], workers=1)
    target = singleton_target(np.array([m ** (h - 1 - k) for k in range(h)]), positions)
    t2, head = linear_response(target, initial_logits(config, 5), t_end=900.0)
    assert t2 == pytest.approx(flow.stage_times[1], rel=0.08)
    assert head == flow.stage_heads[1]
