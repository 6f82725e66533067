"""What `show` says of a stored run: the same as the phase report where both speak of the same thing."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.conftest import tiny

from headwise.core.trajectory import assemble, attention_by_group
from headwise.phases.detection import detect
from headwise.study.branch import branch
from headwise.study.summary import final_values, show
from headwise.study.summary_text import summary_text
from headwise.study.train import train

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


def test_a_run_measures_head_importance_and_shows_it(tmp_path: Path) -> None:
    """At every second evaluation and the last one; the rest of the record is what it is without."""
    config = tiny(train__steps=6, measure__at__every=2, measure__importance=2)
    lines: list[str] = []
    found = train(config, tmp_path / "with", notify=lines.append, progress="off")
    assert any("head importance takes at most 7 forward passes" in line for line in lines)
    assert np.isfinite(found["head_importance"].values).all((1, 2)).tolist() == [True, False, True, True]
    without = train(tiny(train__steps=6, measure__at__every=2), tmp_path / "without", progress="off")
    assert "head_importance" not in without
    for name, values in without.data_vars.items():
        np.testing.assert_array_equal(found[name].values, values.values)
    summary, other = (show(next((tmp_path / out / "minimal").iterdir())) for out in ("with", "without"))
    assert "rise of the loss (nats) when a head's output is replaced, at step 6" in str(summary)
    last = found["head_importance"].values[-1]
    told = {(one["block"] - 1, one["head"] - 1): one["rise"] for one in summary.final["importance"]["heads"]}
    assert told == {place: pytest.approx(last[place]) for place in np.ndindex(*last.shape)}
    assert "importance" not in other.final
    assert "rise of the loss" not in str(other)


@pytest.mark.parametrize("name", ["minimal", "full"])
def test_importance_in_a_branch_is_that_of_the_model_with_its_actions(name: str, tmp_path: Path) -> None:
    """A head that is ablated or clamped on the way is measured so: without a silent head nothing is lost."""
    train(tiny(name, train__steps=6, measure__importance=1), tmp_path, progress="off")
    (run,) = (tmp_path / name).iterdir()
    for action in ("ablate:heads=2", "ablate:heads=2:put=mean"):
        found = branch(run, 3, do=[action], progress="off").branches[0].trajectory
        importance = found["head_importance"].values[:, 0]
        assert np.abs(importance[-1, 1]) < 1e-6
        assert np.abs(importance[-1, [0, 2]]).min() > 1e-6
