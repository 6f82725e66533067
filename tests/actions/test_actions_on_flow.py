"""Actions on the flow: nothing done is the flow itself, what is held stands still, states are what they are set to."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from headwise.actions.on_flow import branch_flow
from headwise.core.errors import ConfigError
from headwise.flow.config import FlowConfig
from headwise.flow.simulate import solve_flow, to_trajectory

CONFIG = FlowConfig(start="B", T=6, t_end=60.0, points=50)
AT = 20.0


@pytest.mark.parametrize("until", [None, 40.0])
def test_nothing_done_is_the_flow(until: float | None) -> None:
    found = branch_flow(CONFIG, AT, do=["sham"], until=until)
    whole = to_trajectory(solve_flow(CONFIG), found["step"].values)
    for name in ("excess_loss", "attention_by_lag", "value_alignment"):
        assert found[name].values == pytest.approx(whole[name].values, abs=1e-6), name


def test_what_is_held_stands_still_and_then_moves() -> None:
    found = branch_flow(CONFIG, AT, do=["freeze:heads=2"], until=40.0)
    held = found.sel(step=slice(AT, 40.0))
    assert np.ptp(held["attention_by_lag"].values[:, 0, 1], axis=0).max() == 0
    assert np.ptp(held["value_alignment"].values[:, 0, 1], axis=0).max() == 0
    assert np.ptp(held["value_alignment"].values[:, 0, 0], axis=0).max() > 0
    later = found.sel(step=slice(40.0, 60.0))
    assert np.ptp(later["value_alignment"].values[:, 0, 1], axis=0).max() > 0


def test_a_frozen_flow_against_the_equations_written_out() -> None:
    """dC = s Rᵀ and dq = s (g - s·g) with the rows of the frozen head left out, solved by another method."""
    config = CONFIG.changed({"features": "frobenius"})
    flow = solve_flow(config)
    heads, n, positions = 3, 3, 6
    y = flow.solution.at(np.array([AT]))[0]
    signal = flow.target.signal

    def field(t: float, y: np.ndarray) -> np.ndarray:
        c, q = y[: heads * n].reshape(heads, n), y[heads * n :].reshape(heads, positions)
        s = np.exp(q) / np.exp(q).sum(1, keepdims=True)
        rest = signal - c.T @ s
        dc, dq = s @ rest.T, np.empty_like(q)
        for k in range(heads):
            g = c[k] @ rest
            dq[k] = s[k] * (g - s[k] @ g)
        dc[0] = 0
        return np.concatenate([dc.ravel(), dq.ravel()])

    wanted = solve_ivp(field, (AT, 60.0), y, method="LSODA", rtol=1e-9, atol=1e-12).y[:, -1]
    found = branch_flow(config, AT, do=["freeze:heads=1:part=values"])
    assert found["value_coefficient"].values[-1, 0] == pytest.approx(wanted[: heads * n].reshape(heads, n), abs=1e-5)


def test_states_that_are_set() -> None:
    before = to_trajectory(solve_flow(CONFIG), np.array([AT, AT + 1]))["value_coefficient"].values[0, 0]
    first = {
        action: branch_flow(CONFIG, AT, do=[action]).isel(step=0, block=0)
        for action in ("copy:1->2", "swap:heads=1,3:part=values", "scale:by=0.5:part=values", "ablate:heads=1")
    }
    assert np.allclose(first["copy:1->2"]["value_coefficient"][1], before[0])
    assert np.allclose(first["swap:heads=1,3:part=values"]["value_coefficient"], before[[2, 1, 0]])
    assert np.allclose(first["scale:by=0.5:part=values"]["value_coefficient"], before / 2)
    assert np.allclose(first["ablate:heads=1"]["value_coefficient"][0], 0)
    clamped = branch_flow(CONFIG, AT, do=["clamp:heads=2:to=group3"])
    assert clamped["attention_by_group"].values[:, 0, 1, 2] == pytest.approx(1.0)
    tied = branch_flow(CONFIG, AT, do=["tie"])
    assert np.ptp(tied["attention_by_lag"].values[:, 0], axis=1).max() < 1e-12


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("freeze:heads=7", "no head 7"),
        ("clamp:to=group9", "no group 9"),
        ("block:groups=1", "no such"),
        ("copy:7->1", "no head 7"),
        ("swap:heads=1", "exactly two"),
        ("tie:heads=1", "at least two"),
        ("freeze:heads=1,1", "each once"),
        ("freeze:blocks=2", "no block 2"),
    ],
)
def test_mistakes(action: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        branch_flow(CONFIG, AT, do=[action])


def test_a_tie_that_is_contradicted() -> None:
    with pytest.raises(ConfigError, match="freeze all of them or none"):
        branch_flow(CONFIG, AT, do=["tie:heads=1,2", "freeze:heads=1"])


@pytest.mark.parametrize("held", ["clamp:heads=2:to=group2", "ablate:heads=2"])
def test_a_held_head_is_not_tied(held: str) -> None:
    """In the order given, the tie averaged what was held with other heads, and the held head moved."""
    for actions in ([held, "tie:heads=1,2"], ["tie:heads=1,2", held]):
        with pytest.raises(ConfigError, match="a head of the flow cannot be both"):
            branch_flow(CONFIG, AT, do=actions)
    branch_flow(CONFIG, AT, do=[held, "tie:heads=1,3"])


def test_what_is_held_is_set_last() -> None:
    clamped = branch_flow(CONFIG, AT, do=["clamp:heads=2:to=group2"])["attention_by_lag"].values[:, 0, 1]
    later = branch_flow(CONFIG, AT, do=["clamp:heads=2:to=group2", "perturb:heads=2:size=3:part=attention"])
    assert np.array_equal(later["attention_by_lag"].values[:, 0, 1], clamped)
    silent = branch_flow(CONFIG, AT, do=["ablate:heads=2", "copy:1->2"])["value_alignment"].values[:, 0, 1]
    assert not silent.any()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"at": "20"}, "at = '20' must be a time, a number"),
        ({"at": None}, "at = None must be a time, a number"),
        ({"at": -1.0}, "at = -1 must lie between 0 and t_end = 60"),
        ({"at": AT, "until": "40"}, "until = '40' must be a time, a number"),
        ({"at": AT, "do": "freeze"}, r"do = 'freeze' must be a list of actions, such as \['freeze'\]"),
        ({"at": AT, "do": [1]}, r"do = \[1\] must be a list of actions in words"),
        ({"at": AT, "until": 40.0, "then": "tie"}, "then = 'tie' must be a list of actions"),
    ],
)
def test_what_only_python_can_give(given: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        branch_flow(CONFIG, **given)  # type: ignore[arg-type]
