"""The regression flow of §3 from its random-free start: who leaves when, against independent integration.

The exact reduction (coefficients and logits) is integrated here with LSODA; nothing of the package makes the data.
"""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

from headwise.core.trajectory import assemble
from headwise.phases.detection import detect

SIZES = np.array([2.89, 1.7, 1.0])


@pytest.fixture(scope="module")
def flow() -> xr.Dataset:
    logits = 1e-3 * np.sin(np.outer(np.arange(1, 4), np.arange(1, 41)))
    logits -= logits.mean(axis=1, keepdims=True)
    target = np.diag(SIZES) @ np.eye(3, 40)

    def attention(q: np.ndarray) -> np.ndarray:
        e = np.exp(q - q.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def field(_: float, state: np.ndarray) -> np.ndarray:
        c, q = state[:9].reshape(3, 3), state[9:].reshape(3, 40)
        s = attention(q)
        rest = target - c.T @ s
        gain = c @ rest
        return np.concatenate([(s @ rest.T).ravel(), (s * (gain - (s * gain).sum(1, keepdims=True))).ravel()])

    times = np.unique(np.concatenate([np.linspace(0, 1500, 601), np.linspace(160, 175, 151)]))
    start = np.concatenate([np.zeros(9), logits.ravel()])
    states = solve_ivp(field, (0, 1500), start, method="LSODA", rtol=1e-9, atol=1e-12, t_eval=times).y.T
    c, s = states[:, :9].reshape(-1, 3, 3), attention(states[:, 9:].reshape(-1, 3, 40))
    rest = target - np.swapaxes(c, 1, 2) @ s
    return assemble(
        {
            "excess_loss": 0.5 * (rest**2).sum(axis=(1, 2)),
            "attention_by_lag": s[:, None],
            "value_coefficient": (c / SIZES)[:, None],
        },
        {"step": times, "lag": np.arange(1, 41)},
        {"groups": [[1], [2], [3]]},
    )


def test_offshoots_of_the_reference_flow(flow: xr.Dataset) -> None:
    report = detect(flow)
    assert [(o.head, o.source, o.target) for o in report.offshoots] == [(3, 1, 2), (1, 1, 3)]
    assert [o.step for o in report.offshoots] == pytest.approx([167.45, 1042.4], rel=0.02)
    assert report.loss.boundaries == pytest.approx([167.45, 1042.4], rel=0.01)
    assert report.agreement.agrees
    assert report.competitive is not None
    assert report.competitive.end == report.offshoots[0].step


def test_compensation_of_the_reference_flow(flow: xr.Dataset) -> None:
    """Head 2, which never leaves, dips to -0.5523 / 1.7 and -1.2337 on the new features."""
    first, second = detect(flow).compensation
    for item, bottom in ((first, -0.5523 / 1.7), (second, -1.2337)):
        assert item.deepest is not None
        assert item.deepest.head == 2
        assert item.deepest.depth < 0
        assert item.deepest.before + item.deepest.depth * item.gain == pytest.approx(bottom, abs=5e-3)


def test_hidden_groups_of_the_reference_flow(flow: xr.Dataset) -> None:
    report = detect(flow, groups="found")
    assert [pattern.lags for pattern in report.heads.patterns] == [(1,), (2,), (3,)]
    assert [(o.head, o.target) for o in report.offshoots] == [(3, "2"), (1, "3")]
