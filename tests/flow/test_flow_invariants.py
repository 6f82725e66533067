"""What every flow conserves or never does, over random sizes, strengths and starts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.flow.reduction import State, System
from headwise.flow.simplex import softmax
from headwise.flow.solve import integrate
from headwise.flow.systems import all_heads
from headwise.flow.target import Target


@dataclass
class Case:
    system: System
    state: State


@st.composite
def cases(draw: st.DrawFn) -> Case:
    heads, n = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    positions = draw(st.integers(max(2, n), 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    strengths = np.sort(rng.uniform(0.2, 2.5, n))[::-1].copy()
    root = np.linalg.qr(rng.standard_normal((n, n)))[0] @ np.diag(rng.uniform(0.5, 1.5, n))
    gram = root @ root.T
    gram /= np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    target = Target(strengths, np.eye(n, positions), gram if draw(st.booleans()) else np.eye(n))
    scale = draw(st.sampled_from([1e-3, 0.1, 1.0]))
    outside = draw(st.booleans())
    rest = rng.standard_normal((heads, 2 * heads))
    system = all_heads(
        target,
        heads,
        outside=rest @ rest.T if outside else None,
        metric=draw(st.sampled_from(["squared", "plain"])),
    )
    q = scale * rng.standard_normal((heads, positions))
    state = State(scale * rng.standard_normal((heads, n)), q, np.eye(heads) if outside else None)
    return Case(system, state)


def solved(case: Case, t_end: float = 15.0) -> tuple[np.ndarray, np.ndarray]:
    solution = integrate(case.system.field, case.system.pack(case.state), t_end=t_end, rtol=1e-9, atol=1e-12)
    times = np.linspace(0, t_end, 60)
    return times, solution.at(times)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_attention_stays_inside_and_logits_keep_their_sum_and_loss_never_rises(case: Case) -> None:
    _, states = solved(case)
    state = case.system.unpack(states)
    s = case.system.attention(state)
    np.testing.assert_allclose(s.sum(-1), 1, atol=1e-12)
    assert s.min() > 0
    np.testing.assert_allclose(state.moving.sum(-1), case.state.moving.sum(-1) + 0 * s.sum(-1), atol=1e-7)
    loss = case.system.loss(state)
    assert np.diff(loss).max() <= 1e-8 * max(1.0, loss[0])


@settings(max_examples=25, deadline=None)
@given(cases())
def test_loss_falls_by_the_squared_speed(case: Case) -> None:
    """dL/dt = −Σ‖V̇‖² − Σ‖q̇‖² under Π², with ⟨g, Π g⟩ for the last term under Π; by a difference quotient."""
    system, y, step = case.system, case.system.pack(case.state), 1e-5
    velocity = system.field(0.0, y)
    ahead, behind = system.unpack(y + step * velocity), system.unpack(y - step * velocity)
    quotient = (system.loss(ahead) - system.loss(behind)) / (2 * step)
    rate = float(system.loss_rate(case.state))
    np.testing.assert_allclose(quotient, rate, rtol=1e-5, atol=1e-7)
    if system.metric == "squared" and system.outside is None:
        moved = system.velocity(case.state)
        squared = np.sum(moved.coefficients * (moved.coefficients @ system.target.gram)) + np.sum(moved.moving**2)
        np.testing.assert_allclose(rate, -squared, rtol=1e-10)


@settings(max_examples=25, deadline=None)
@given(cases(), st.integers(0, 2**32 - 1))
def test_permuting_heads_and_unused_positions_permutes_the_flow(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    system, state = case.system, case.state
    n, positions = system.target.features, system.target.positions
    order = rng.permutation(system.heads)
    columns = np.concatenate([np.arange(n), n + rng.permutation(positions - n)])
    outside = None if system.outside is None else system.outside[np.ix_(order, order)]
    twin = all_heads(system.target, system.heads, outside=outside, metric=system.metric)
    moved = system.velocity(state)
    other = twin.velocity(State(state.coefficients[order], state.moving[order][:, columns], state.mixing))
    np.testing.assert_allclose(other.coefficients, moved.coefficients[order], atol=1e-12)
    np.testing.assert_allclose(other.moving, moved.moving[order][:, columns], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(cases())
def test_value_norms_grow_by_attention_times_pull(case: Case) -> None:
    """½ d‖V_k‖²/dt = ⟨s_k, V_kᵀ(G − P)⟩."""
    system, state = case.system, case.state
    s = system.attention(state)
    g = system.pull(state, s, system.residual(state, s))
    moved = system.velocity(state)
    half_rate = np.sum(moved.coefficients * (state.coefficients @ system.target.gram), axis=-1)
    if state.mixing is not None and moved.mixing is not None and system.outside is not None:
        half_rate = half_rate + np.sum(moved.mixing * (state.mixing @ system.outside), axis=-1)
    np.testing.assert_allclose(half_rate, np.sum(s * g, axis=-1), atol=1e-10)


@settings(max_examples=15, deadline=None)
@given(cases())
def test_both_charts_give_the_same_flow(case: Case) -> None:
    system = case.system
    other = System(system.target, system.multiplicity, outside=system.outside, metric=system.metric, chart="s")
    q_state = State(
        case.state.coefficients, case.state.moving - case.state.moving.mean(-1, keepdims=True), case.state.mixing
    )
    tight = {"t_end": 4.0, "rtol": 1e-10, "atol": 1e-13}
    a = integrate(system.field, system.pack(q_state), **tight).states[-1]
    s_state = State(q_state.coefficients, softmax(q_state.moving), q_state.mixing)
    b = integrate(other.field, other.pack(s_state), **tight).states[-1]
    np.testing.assert_allclose(system.attention(system.unpack(a)), other.unpack(b).moving, atol=1e-7)
    np.testing.assert_allclose(system.unpack(a).coefficients, other.unpack(b).coefficients, atol=1e-6)
