"""The reduction against the d × d system, against the residual tensor written out; systems against each other."""

from __future__ import annotations

import numpy as np
import pytest

from headwise.flow.full import FullSystem, split_values
from headwise.flow.heads import heads_of_full, heads_of_system
from headwise.flow.reduction import State, System
from headwise.flow.simplex import project, projector, softmax
from headwise.flow.solve import integrate
from headwise.flow.start import sine_logits
from headwise.flow.systems import all_heads, cooperative, coupled, grouped, nth_head
from headwise.flow.target import Target, singleton_target


def random_target(rng: np.random.Generator, *, d: int, n: int, positions: int) -> tuple[Target, np.ndarray]:
    """Features that are far from orthogonal, and their target."""
    features = rng.standard_normal((n, d, d)) + 0.7 * rng.standard_normal((1, d, d))
    features /= np.linalg.norm(features, axis=(1, 2), keepdims=True)
    flat = features.reshape(n, -1)
    strengths = np.sort(rng.uniform(0.5, 2.5, n))[::-1].copy()
    return Target(strengths, np.eye(n, positions), flat @ flat.T), features


def dense_velocity(
    target: Target, features: np.ndarray, values: np.ndarray, s: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """V̇, g and L from the d × d × T tensor itself."""
    goal = np.einsum("j,jab,jt->abt", target.strengths, features, target.patterns)
    rest = goal - np.einsum("k,kab,kt->abt", weights, values, s)
    return np.einsum("abt,kt->kab", rest, s), np.einsum("kab,abt->kt", values, rest), 0.5 * float(np.sum(rest**2))


@pytest.mark.parametrize("metric", ["squared", "plain"])
@pytest.mark.parametrize("chart", ["q", "s"])
def test_velocity_equals_the_tensor_written_out(metric: str, chart: str) -> None:
    rng = np.random.default_rng(0)
    d, n, positions, heads = 4, 3, 7, 4
    target, features = random_target(rng, d=d, n=n, positions=positions)
    values, q = rng.standard_normal((heads, d, d)), rng.standard_normal((heads, positions))
    q -= q.mean(-1, keepdims=True)
    s, weights = softmax(q), np.array([1.0, 2.0, 1.0, 3.0])
    coefficients, outside = split_values(values, features)
    system = System(target, weights, outside=outside, metric=metric, chart=chart)  # type: ignore[arg-type]
    state = State(coefficients, q if chart == "q" else s, np.eye(heads))
    velocity = system.velocity(state)
    shift, g, loss = dense_velocity(target, features, values, s, weights)
    residual = values - np.einsum("kj,jab->kab", coefficients, features)
    rebuilt = np.einsum("kj,jab->kab", velocity.coefficients, features)
    rebuilt += np.einsum("kl,lab->kab", velocity.mixing, residual)
    np.testing.assert_allclose(rebuilt, shift, atol=1e-12)
    expected = np.stack([projector(s[k]) @ g[k] for k in range(heads)]) if metric == "squared" else g
    if chart == "s":
        expected = np.stack([projector(s[k]) @ expected[k] for k in range(heads)])
    elif metric == "plain":
        expected = expected - expected.mean(-1, keepdims=True)
    np.testing.assert_allclose(velocity.moving, expected, atol=1e-12)
    assert system.loss(state) == pytest.approx(loss, rel=1e-12)


def test_the_fast_path_is_the_same_field() -> None:
    rng = np.random.default_rng(1)
    target, _ = random_target(rng, d=3, n=3, positions=6)
    for metric in ("squared", "plain"):
        system = System(target, np.array([2.0, 1.0]), metric=metric)  # type: ignore[arg-type]
        y = rng.standard_normal((5, system.size))
        np.testing.assert_allclose(system.field(0, y), system.pack(system.velocity(system.unpack(y))), atol=1e-13)
        np.testing.assert_allclose(system.field(0, y[2]), system.field(0, y)[2], atol=1e-13)


@pytest.mark.parametrize(
    ("case", "d"),
    [
        pytest.param("zero", 50, marks=pytest.mark.slow),
        pytest.param("outside", 50, marks=pytest.mark.slow),
        pytest.param("correlated", 50, marks=pytest.mark.slow),
        ("zero", 6),
        ("outside", 6),
        ("correlated", 6),
    ],
)
def test_full_system_agrees_with_the_reduction(case: str, d: int) -> None:
    rng = np.random.default_rng(2)
    heads, positions = 3, 40
    if case == "correlated":
        target, features = random_target(rng, d=d, n=3, positions=positions)
        assert np.abs(target.gram - np.eye(3)).max() > 0.05
    else:
        target = singleton_target(np.array([2.89, 1.7, 1.0]), positions)
        features = np.linalg.qr(rng.standard_normal((d * d, 3)))[0].T.reshape(3, d, d)
    values = np.zeros((heads, d, d)) if case == "zero" else 0.3 * rng.standard_normal((heads, d, d)) / d
    q = sine_logits(heads, positions)
    coefficients, outside = split_values(values, features)
    system = all_heads(target, heads, outside=outside)
    full = FullSystem(target, features, heads)
    tight = {"t_end": 800.0, "rtol": 1e-11, "atol": 1e-13}
    small = integrate(system.field, system.pack(State(coefficients, q, np.eye(heads))), **tight)
    large = integrate(full.field, full.pack(values, q), **tight)
    times = np.linspace(0, 800, 201)
    a, b = heads_of_system(system)(small.at(times)), heads_of_full(full)(large.at(times))
    np.testing.assert_allclose(a.attention, b.attention, atol=1e-8, rtol=0)
    np.testing.assert_allclose(a.coefficients, b.coefficients, atol=1e-8, rtol=0)
    np.testing.assert_allclose(a.outside, b.outside, atol=1e-8, rtol=0)
    np.testing.assert_allclose(a.loss, b.loss, atol=1e-8, rtol=0)
    np.testing.assert_allclose(b.loss[::50], [full.loss(y) for y in large.at(times[::50])], atol=1e-10)


def test_the_reduction_has_138_numbers() -> None:
    system = all_heads(singleton_target(np.array([2.89, 1.7, 1.0]), 40), 3, outside=np.eye(3))
    assert system.size == 138


def test_equal_heads_follow_the_coupled_system() -> None:
    target = singleton_target(np.array([2.0, 1.5, 1.0]), 8)
    rng = np.random.default_rng(3)
    c, q = rng.standard_normal((1, 3)), rng.standard_normal((1, 8))
    many, one = all_heads(target, 4), coupled(target, 4)
    velocity, single = many.velocity(State(np.repeat(c, 4, 0), np.repeat(q, 4, 0))), one.velocity(State(c, q))
    np.testing.assert_allclose(velocity.moving, np.repeat(single.moving, 4, 0), atol=1e-13)
    np.testing.assert_allclose(velocity.coefficients, np.repeat(single.coefficients, 4, 0), atol=1e-13)
    many, one = all_heads(target, 4, outside=np.full((4, 4), 0.7)), coupled(target, 4, outside=np.full((1, 1), 0.7))
    state, lone = State(np.repeat(c, 4, 0), np.repeat(q, 4, 0), np.eye(4)), State(c, q, np.eye(1))
    np.testing.assert_allclose(many.velocity(state).moving[2], one.velocity(lone).moving[0], atol=1e-13)
    np.testing.assert_allclose(many.loss(state), one.loss(lone), rtol=1e-13)


def test_cooperative_is_two_group_with_the_ensemble_on_position_one() -> None:
    target = singleton_target(np.array([2.0, 1.5, 1.0]), 6)
    rng = np.random.default_rng(4)
    c, s = rng.standard_normal((2, 3)), softmax(rng.standard_normal((1, 6)))
    frozen = cooperative(target, 5).velocity(State(c, s))
    moving = grouped(target, np.array([4.0, 1.0]), chart="s").velocity(State(c, np.concatenate([np.eye(6)[:1], s])))
    np.testing.assert_allclose(frozen.coefficients, moving.coefficients, atol=1e-13)
    np.testing.assert_allclose(frozen.moving[0], moving.moving[1], atol=1e-13)
    np.testing.assert_allclose(moving.moving[0], 0, atol=1e-13)


def test_nth_head_matches_its_display() -> None:
    target = singleton_target(np.array([2.0, 1.5, 1.2, 1.0]), 6)
    rng = np.random.default_rng(5)
    c, s, n = rng.standard_normal((1, 4)), softmax(rng.standard_normal((1, 6))), 3
    velocity = nth_head(target, n).velocity(State(c, s))
    late, tail = target.strengths * (np.arange(4) >= n - 1), s[0] * (np.arange(6) >= n - 1)
    np.testing.assert_allclose(velocity.coefficients[0], late * s[0, :4] - tail @ tail * c[0], atol=1e-13)
    pull = np.pad(late * c[0], (0, 2)) - c[0] @ c[0] * tail
    np.testing.assert_allclose(velocity.moving[0], project(s[0], project(s[0], pull)), atol=1e-13)


def test_spread_groups_keep_the_residual_off_the_solved_span() -> None:
    patterns = np.zeros((2, 5))
    patterns[0, :2], patterns[1, 2:4] = (0.7, 0.3), (0.5, 0.5)
    target = Target(np.array([2.0, 1.0]), patterns, np.eye(2))
    system = nth_head(target, 2)
    rng = np.random.default_rng(6)
    state = State(rng.standard_normal((1, 2)), softmax(rng.standard_normal((1, 5))))
    rest = system.residual(state, system.attention(state))
    np.testing.assert_allclose(rest @ patterns[0], 0, atol=1e-13)
