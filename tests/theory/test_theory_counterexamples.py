"""Counter-examples recomputed by direct algebra and SciPy, without the project's own flow."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from headwise.theory.registry import load_statement
from headwise.theory.statement import Counterexample


def shown(name: str) -> Counterexample:
    statement = load_statement(name)
    assert statement.counterexample is not None
    return statement.counterexample()


def last_number(text: str) -> float:
    return float(re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text.replace("−", "-"))[-1])


def projector(s: np.ndarray) -> np.ndarray:
    return np.diag(s) - np.outer(s, s)


def flow(m: np.ndarray, heads: int, T: int):
    """Eq. dynamics with V_k written in orthonormal features."""
    n = len(m)
    goal = np.zeros((n, T))
    goal[range(n), range(n)] = m

    def field(t: float, y: np.ndarray) -> np.ndarray:
        V, s = y[: heads * n].reshape(heads, n), y[heads * n :].reshape(heads, T)
        rest = goal - V.T @ s
        steps = [projector(a) @ projector(a) @ (v @ rest) for v, a in zip(V, s, strict=True)]
        return np.concatenate([(s @ rest.T).ravel(), np.ravel(steps)])

    return field


def test_ordering() -> None:
    s, v = np.array([0.5, 0.1, 0.4]), np.array([0.0, 0.0, 1.0])
    moved = projector(s) @ v
    assert s[0] > s[1]
    assert v[0] >= v[1]
    assert moved[0] < moved[1]
    assert f"({moved[0]:g}, {moved[1]:g}, {moved[2]:g})" in shown("ordering").found


@pytest.mark.parametrize(("name", "n"), [("cooperative-limit", 2), ("higher", 3)])
def test_a_late_head_at_rest_inside_the_simplex(name: str, n: int) -> None:
    """The flow of all heads, the others at their best: nobody moves, and φ > 0."""
    strengths = np.power(2.0, np.arange(n)[::-1])
    s = np.full(n, 0.5 / (n - 1))
    s[-1] = 0.5
    free = 2.0 * np.eye(n)[-1]
    others = [strengths[k] * np.eye(n)[k] - s[k] * free for k in range(n - 1)]
    y = np.concatenate([np.ravel([*others, free]), np.ravel([*np.eye(n)[: n - 1], s])])
    assert np.abs(flow(strengths, n, n)(0.0, y)).max() < 1e-15
    phi = 2.0 * strengths[-1] * s[-1] - 0.5 * 4.0 * s[-1] ** 2
    assert phi > 0
    example = shown(name)
    assert f"φ(0) = {phi:g} > 0" in example.given
    assert example.refutes
    assert last_number(example.found) == 0.5


def test_coupling_never_moves_off_the_features_and_is_late_inside() -> None:
    y = np.concatenate([np.zeros(4), np.tile([0.0, 0.0, 1.0], 2)])
    assert not flow(np.array([2.0, 1.0]), 2, 3)(0.0, y).any()
    m = np.array([10.0, 9.0])

    def coupled(t: float, y: np.ndarray) -> np.ndarray:
        """V̇ = Gs − 2‖s‖²V and q̇ = Π(s)(VᵀG − 2‖V‖²s), for two heads that are one."""
        V, s = y[:2], np.exp(y[2:]) / np.exp(y[2:]).sum()
        return np.concatenate(
            [m * s[:2] - 2 * (s @ s) * V, projector(s) @ (np.append(m * V, [0, 0]) - 2 * (V @ V) * s)]
        )

    start = np.concatenate([np.full(2, -16.0), np.zeros(4)])
    solved = solve_ivp(coupled, (0, 2e4), start, method="LSODA", rtol=1e-10, atol=1e-13, t_eval=[1e3, 2e4])
    attention = np.exp(solved.y[2:]) / np.exp(solved.y[2:]).sum(0)
    assert attention[1, 0] == pytest.approx(0.989, abs=2e-3)
    assert attention[0, 1] > 0.99, "it comes back"
    assert f"position 2 has {attention[1, 0]:.2f}" in shown("coupling").found


@pytest.mark.parametrize("c", [1.0, 50.0])
def test_no_constant_bounds_every_deviation(c: float) -> None:
    m, eps = np.array([20.0, 10.0]) * np.sqrt(c), 1e-3
    free, s = np.array([0.0, m[1]]), np.array([[1.0, 0.0], [0.9, 0.1]])
    first = np.array([m[0], 0.0]) - 0.9 * free
    window = 1 / (-c * np.log(eps))
    times = np.linspace(0, window, 300)
    moved = s + eps / np.sqrt(2) * np.array([[0.0, 0.0], [-1.0, 1.0]])
    plain, other = (
        solve_ivp(
            flow(m, 2, 2),
            (0, window),
            np.concatenate([first, free, a.ravel()]),
            t_eval=times,
            method="DOP853",
            rtol=1e-11,
            atol=1e-13,
        ).y
        for a in (s, moved)
    )
    gap = np.linalg.norm((other - plain).reshape(4, 2, -1), axis=1).max(0)
    ratio = float((gap / (eps * np.exp(c * times))).max())
    assert ratio > 2.5
    assert np.linalg.norm(plain[6:8] - np.array([[1.0], [0.0]]), axis=0).min() > 0.14
    if c == 1.0:
        assert f"= {ratio:.2f}·ε e^(ct)" in shown("bounded-cooperative").found


@pytest.mark.parametrize(
    ("name", "V", "s", "m", "j"),
    [
        ("coupling-region", [[-1.0, -1.0]] * 2, [[0.5, 0.5]] * 2, [2.0, 1.0], 1),
        (
            "cooperative-region",
            [[3.0, 0.5, 0.5], [0.0, -1.0, -1.0]],
            [[1.0, 0.0, 0.0], [0.5, 0.25, 0.25]],
            [3.0, 2.0, 1.0],
            2,
        ),
    ],
)
def test_the_flow_leaves_the_ordering_region(name: str, V: list, s: list, m: list, j: int) -> None:
    """The last head's attention, all heads moving: the ensemble of the second case is at its best for the free head."""
    rate = flow(np.array(m), len(V), len(m))(0.0, np.concatenate([np.ravel(V), np.ravel(s)]))[-len(m) :]
    assert rate[j - 1] - rate[j] < 0
    assert last_number(shown(name).found) == pytest.approx(rate[j - 1] - rate[j])


def test_values_exceed_the_printed_bound() -> None:
    s = np.array([1 / 2, 1 / 6, 1 / 6, 1 / 6])
    assert last_number(shown("value-bound").found) == pytest.approx(s[0] / (s @ s)) == 1.5


def test_initial_loss() -> None:
    eps, v = 0.01, np.array([2.0, 0.01])
    left, right = 1.0 * v[1] * eps, 0.5 * (v @ v) * eps**2
    assert left < right
    assert f"{left:.4g}" in shown("initial-loss").found
    assert f"{right:.4g}" in shown("initial-loss").found


def test_curvatures_at_the_start() -> None:
    """One head on two positions: second differences of a solved flow."""
    step = 1e-3
    solved = solve_ivp(
        flow(np.array([1.0]), 1, 2), (0, 2 * step), [0.0, 0.5, 0.5], t_eval=[0, step, 2 * step], rtol=1e-12, atol=1e-15
    )
    bend = np.diff(solved.y, n=2, axis=1)[:, 0] / step**2
    assert bend[0] == pytest.approx(-0.25, rel=1e-2)
    assert bend[1] == pytest.approx(1 / 16, rel=1e-2)
    assert f"{-0.25:g}·V_1*" in shown("initial-value-curvature").found
    assert "0.0625, -0.0625" in shown("initial-attention-curvature").found


def test_unequal_weights_need_unequal_logits() -> None:
    logits = np.array([0.0, 0.0, 0.0, 60.0, 60.0])
    weights = np.exp(logits - 60) / np.exp(logits - 60).sum()
    assert weights[-2:] == pytest.approx([0.5, 0.5])
    assert "(0.5, 0.5)" in shown("construction-weights").found


def test_expansion_and_rate_of_the_first_position() -> None:
    s, g = np.array([0.5, 0.5]), np.array([0.0, 1.5])
    assert last_number(shown("projector-expansion").found) == projector(s)[0, 0] == 0.25
    assert last_number(shown("first-position-rate").found) == pytest.approx((projector(s) @ projector(s) @ g)[0])
