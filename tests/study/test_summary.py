"""What `show` says of a stored run: the same as the phase report where both speak of the same thing."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import xarray as xr

from headwise.core.trajectory import assemble, attention_by_group
from headwise.phases.detection import detect
from headwise.study.summary import final_values, show
from headwise.study.summary_text import summary_text

RUN = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"
GROUPS = [[1, 2], [3, 4], [5, 6]]


def steady_run(shares: list[list[float]]) -> xr.Dataset:
    """Heads with constant shares (head, group) of their attention, the rest even over twelve lags."""
    patterns = np.zeros((3, 12))
    for k, group in enumerate(GROUPS):
        patterns[k, np.array(group) - 1] = 0.5
    mixed = np.array(shares) @ patterns
    attention = mixed + (1 - mixed.sum(-1, keepdims=True)) / 12
    by_lag = np.broadcast_to(attention, (20, 1, *attention.shape))
    lags = list(range(1, 13))
    return assemble(
        {"attention_by_lag": by_lag, "attention_by_group": attention_by_group(by_lag, lags, GROUPS)},
        {"step": np.arange(20) * 10, "lag": lags},
        {"groups": GROUPS},
    )


def test_copies_are_those_of_the_phase_report() -> None:
    """Head 1 gives group 2 less than half; head 2 has half on group 1 by even attention and a little more."""
    run = steady_run([[0.0, 0.4, 0.1], [0.6, 0.0, 0.0], [0.1, 0.1, 0.1]])
    final = final_values(run)
    assert final["copies"] == [[2, 1, None]]
    specialised = detect(run).to_json()["specialised"]["heads"]
    assert [head["pattern"] for head in specialised] == final["copies"][0]
    assert final["attention_by_group"][0][0][1] < 0.5


def test_show_prints_what_phases_prints() -> None:
    summary = show(RUN)
    assert summary.final["copies"] == [[1, 3, 2]]
    rows = re.findall(r"^ *1 +(\d) .* (group \d)$", str(summary), flags=re.MULTILINE)
    assert rows == [("1", "group 1"), ("2", "group 3"), ("3", "group 2")]


def test_attention_that_is_nowhere_finite_is_copied_by_nobody() -> None:
    run = steady_run([[0.6, 0.0, 0.0]])
    run = run.copy(data={name: np.full(run[name].shape, np.nan) for name in run.data_vars})
    final = final_values(run)
    assert final["copies"] == []
    assert "nothing" in summary_text("a run", final, None)


def test_many_heads_fit_80_columns_and_none_is_left_out() -> None:
    shares = np.random.default_rng(0).dirichlet(np.ones(4), size=40)[:, :3]
    run = steady_run(shares.tolist())
    run = run.assign(excess_loss=("step", np.linspace(1, 0, 20)))
    text = summary_text("a run", final_values(run) | {"kl": {f"prefix_{k}": 0.25 for k in range(30)}}, run)
    assert max(map(len, text.split("\n"))) <= 80
    first = [f"{int(one.argmax()) + 1} ({one.max():.2f})" for one in run["attention_by_group"].values[0, 0]]
    assert all(cell in " ".join(text.split()) for cell in first)
    assert text.count("prefix_") == 30
    assert [int(head) for head in re.findall(r"^ +1 +(\d+) ", text, flags=re.MULTILINE)] == list(range(1, 41))
