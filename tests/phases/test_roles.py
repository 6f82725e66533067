"""Roles: when heads take them up, how sure that is, what belongs together, how few are false in a large model."""

from __future__ import annotations

import re

import numpy as np
import pytest
import xarray as xr
from lag_runs import STEPS, falling, lag_run, ramp
from nothing_happens import wandering_model

from headwise.core.trajectory import assemble
from headwise.phases.detection import detect
from headwise.phases.run_report import RunReport

RISE = ramp(400, width=100)


def with_roles(run: xr.Dataset, scores: dict[tuple[int, int, str], np.ndarray], *, spread: float = 0.02) -> xr.Dataset:
    """The run with role scores, (block, head, role) counted from 1, on eight folds that differ by `spread`."""
    rng = np.random.default_rng(0)
    names = sorted({role for _, _, role in scores})
    shape = (len(STEPS), run.sizes["block"], run.sizes["head"], len(names))
    score = np.zeros(shape)
    for (block, head, role), values in scores.items():
        score[:, block - 1, head - 1, names.index(role)] = values
    apart = spread * rng.normal(size=(1, 8, *shape[1:]))
    folds = score[:, None] + apart - apart.mean(axis=1, keepdims=True)
    more = assemble(
        {"role_score": score, "role_chance": np.full(shape, 0.1), "role_fold": folds}, {"step": STEPS, "role": names}
    )
    return xr.merge([run, more], join="exact")


def composed() -> xr.Dataset:
    """A previous-token head in layer 1 at 380, an induction head in layer 2 at 400, the loss at 400."""
    heads = [[{2: 0.8 * ramp(380)}, {}], [{}, {}]]
    return with_roles(lag_run(heads, loss=falling(400)), {(2, 1, "induction"): 0.85 * ramp(400)})


def test_a_role_has_its_height_chance_and_the_time_of_its_rise() -> None:
    run = with_roles(lag_run([[{}, {}]], loss=falling(400)), {(1, 2, "induction"): 0.8 * RISE})
    (role,) = detect(run).roles
    assert (role.block, role.head, role.role) == (1, 2, "induction")
    assert role.score == pytest.approx(0.8, abs=0.02)
    assert role.chance == pytest.approx(0.1)
    assert role.end == 1000
    fifth, fourth = np.interp([0.2, 0.8], RISE, STEPS)
    assert 0 <= fifth - role.interval[0] <= 10
    assert 0 <= role.interval[1] - fourth <= 10
    assert role.interval[0] <= role.start <= role.interval[1]


def test_a_lost_role_ends() -> None:
    run = lag_run([[{5: 0.7 * ramp(200) * (1 - ramp(600))}, {}]], loss=falling(200))
    (role,) = detect(run).roles
    assert role.role == "lag 5"
    assert role.start == pytest.approx(190, abs=20)
    assert role.end == pytest.approx(620, abs=20)


def test_folds_vote() -> None:
    """The same mean from folds that agree, and from folds of which half do not show it."""
    run = lag_run([[{}, {}]], loss=falling(400))
    clear = detect(with_roles(run, {(1, 1, "induction"): 0.3 * RISE}))
    unsure = detect(with_roles(run, {(1, 1, "induction"): 0.3 * RISE}, spread=0.5))
    assert [role.role for role in clear.roles] == ["induction"]
    assert unsure.roles == ()
    assert [(item.what, item.block, item.head) for item in unsure.undecided] == [("induction", 1, 1)]
    assert "parts of the batch" in unsure.undecided[0].reason


def test_a_share_within_its_standard_errors_is_open() -> None:
    run = lag_run([[{5: 0.4 * RISE}, {}]], loss=falling(400))
    error = np.full(run["attention_by_lag"].shape, 0.2)
    report = detect(run.assign(lag_error=(run["attention_by_lag"].dims, error)))
    assert report.roles == ()
    assert [item.what for item in report.undecided] == ["lag 5"]


def test_layers_and_loss_are_one_transition_in_order() -> None:
    report = detect(composed())
    (transition,) = report.transitions
    assert [part.what for part in transition.parts] == ["previous-token head L0H0", "induction head L1H0", "loss drop"]
    gaps = np.diff([part.step for part in transition.parts])
    assert (gaps > 0).all()
    text = " ".join(str(report).split())
    told = (
        r"transition: previous-token head L0H0 at [\d.]+, induction head L1H0 at [\d.]+ \([\d.]+ later\), loss drop at"
    )
    assert re.search(told, text)


def test_few_looks_and_short_contexts_are_said() -> None:
    run = composed()
    few = detect(run.isel(step=slice(None, None, 10)))
    assert any("looks: with 11 of them" in note for note in few.notes)
    hole = detect(run.isel(step=[*range(30), *range(60, 101)]))
    assert any("nobody looked between 290 and 600" in note for note in hole.notes)
    short = run.isel(lag=slice(0, 4))
    report = detect(short)
    assert any("contexts are short" in note for note in report.notes)
    assert "induction" not in {role.role for role in report.roles}


def false_statements(report: RunReport) -> int:
    stages = len(report.loss.stages) + len(report.transitions) + len(report.offshoots) + len(report.adds)
    return stages + len(report.roles) + (report.competitive is not None)


@pytest.mark.parametrize("loss", [True, False])
def test_a_large_model_in_which_nothing_happens_gets_no_statement(loss: bool) -> None:
    """144 heads, 64 lags, 3 roles with 8 folds, 200 looks."""
    assert false_statements(detect(wandering_model(0, loss=loss))) == 0


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_at_most_one_report_in_twenty_is_wrong_where_nothing_happens() -> None:
    """The same on thirty models of each of three walks; the widest takes some head to half of its attention on one lag.

    Without a loss such a head has that lag, whoever brought it there; with one the report says that it may be drift.
    """
    for reach, loss in ((0.3, False), (0.5, True), (1.0, True)):
        wrong = [bool(false_statements(detect(wandering_model(seed, reach=reach, loss=loss)))) for seed in range(30)]
        assert np.mean(wrong) <= 0.05


def test_many_heads_are_counted() -> None:
    heads = [[{2: 0.7 * ramp(100 + 20 * (4 * b + h))} for h in range(4)] for b in range(6)]
    text = " ".join(str(detect(lag_run(heads, loss=falling(200)))).split())
    assert "24 previous-token heads, first L0H0, from 9" in text
    assert "L4H1" not in text
    assert "all heads of block 5 end on the same lag 2" in text


def decided(report: RunReport) -> dict[tuple[object, ...], tuple[float, float]]:
    """Every event with its interval."""
    found: dict[tuple[object, ...], tuple[float, float]] = {
        ("role", role.block, role.head, role.role): role.interval for role in report.roles
    }
    for o in report.offshoots:
        assert o.interval is not None
        found["offshoot", o.block, o.head, o.source, o.target] = o.interval
    for i, stage in enumerate(report.loss.stages[1:]):
        assert stage.interval is not None
        found["drop", i] = stage.interval
    return found


def test_reports_read_mid_run_stay_as_the_run_goes_on() -> None:
    """What is decided on a prefix is decided on every longer one, in an interval that overlaps."""
    gone, later = ramp(300), ramp(700)
    up = 0.8 * ramp(80)
    heads = [[{3: up}, {3: up * (1 - gone), 5: 0.8 * gone}], [{}, {4: 0.6 * later}]]
    run = with_roles(lag_run(heads, loss=falling(80, 300, 700)), {(2, 1, "induction"): 0.8 * ramp(500)})
    before: dict[tuple[object, ...], tuple[float, float]] = {}
    for looks in range(12, 102, 3):
        now = decided(detect(run.isel(step=slice(0, looks))))
        for event, (low, high) in before.items():
            assert event in now, (looks, event)
            assert now[event][0] <= high, (looks, event)
            assert now[event][1] >= low, (looks, event)
        before = now
    assert len(before) == 9
