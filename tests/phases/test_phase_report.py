"""The whole report: keys, invariances, what is missing, blocks, found groups, text."""

from __future__ import annotations

import doctest
import json

import numpy as np
import pytest
import xarray as xr
from phase_examples import BOUNDARIES, three_stage_run

import headwise.phases.detection
from headwise.core.errors import ConfigError
from headwise.core.events import Offshoot
from headwise.phases.acquired_roles import RoleEvent
from headwise.phases.detection import detect
from headwise.phases.sentences import _changes
from headwise.phases.transitions import role_parts

KEYS = {"schema", "stages", "competitive", "offshoots", "compensation", "competition_index", "agreement"}
KEYS |= {"copying", "specialised", "predictors", "adds", "roles", "transitions", "undecided", "importance", "climbs"}


def permuted(run: xr.Dataset, order: list[int]) -> xr.Dataset:
    heads = run["head"].values
    return run.isel(head=order).assign_coords(head=heads)


def test_json_has_the_promised_keys_and_plain_values() -> None:
    report = detect(three_stage_run()).to_json()
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert set(report) == KEYS
    assert set(report["stages"]) == {"function", "loss", "heads"}
    for stages in report["stages"].values():
        assert len(stages) == 3
        for stage in stages:
            assert set(stage) == {"start", "end", "label", "score", "interval"}
            assert stage["interval"][0] <= stage["start"] <= stage["interval"][1]
            assert 0 <= stage["score"] <= 1
            assert stage["start"] < stage["end"]
        assert [s["start"] for s in stages[1:]] == pytest.approx(BOUNDARIES, abs=25)
    assert set(report["competitive"]) == {"start", "end", "interval"}
    assert [set(o) for o in report["offshoots"]] == [{"step", "head", "from", "to", "interval"}] * 2
    assert all(o["interval"][0] <= o["step"] <= o["interval"][1] for o in report["offshoots"])
    assert report["adds"] == report["undecided"] == []
    assert {(r["head"], r["role"]) for r in report["roles"]} == {
        *((head, role) for head in (1, 2, 3) for role in ("self", "previous")),
        *((2, role) for role in ("lag 3", "lag 4")),
        *((3, role) for role in ("lag 5", "lag 6")),
    }
    assert [[part["what"] for part in t["what"]] for t in report["transitions"]] == [
        ["head 2 on pattern 2", "loss drop"],
        ["head 3 on pattern 3", "loss drop"],
    ]
    assert [(o["head"], o["from"], o["to"]) for o in report["offshoots"]] == [(2, 1, 2), (3, 1, 3)]
    assert [c["depth"] < 0 for c in report["compensation"]] == [True, True]
    assert report["agreement"]["agrees"] is True
    assert [h["pattern"] for h in report["specialised"]["heads"]] == [1, 2, 3]
    copied = {head: [c["pattern"] for c in report["copying"] if c["head"] == head] for head in (1, 2, 3)}
    assert copied == {1: [1], 2: [1, 2], 3: [1, 3]}
    index = report["competition_index"]
    assert len(index["step"]) == len(index["value"]) == 101
    assert index["value"][0] == pytest.approx(0, abs=1e-9)
    assert index["value"][20] == pytest.approx(0.85, abs=0.02)
    assert index["value"][-1] < 0.05


@pytest.mark.parametrize("order", [[1, 2, 0], [2, 1, 0]])
def test_permuting_heads_permutes_the_report(order: list[int]) -> None:
    run = three_stage_run()
    before, after = detect(run), detect(permuted(run, order))
    renamed = {old + 1: new + 1 for new, old in enumerate(order)}
    assert after.loss == before.loss
    assert after.function == before.function
    assert after.heads.boundaries == before.heads.boundaries
    assert [s.score for s in after.heads.stages] == pytest.approx([s.score for s in before.heads.stages])
    assert [(o.step, o.head, o.target) for o in after.offshoots] == [
        (o.step, renamed[o.head], o.target) for o in before.offshoots
    ]
    assert after.events[0].specialisation.final == {
        renamed[head]: label for head, label in before.events[0].specialisation.final.items()
    }
    for mine, theirs in zip(after.compensation, before.compensation, strict=True):
        assert {d.head: d.depth for d in mine.dips} == {renamed[d.head]: d.depth for d in theirs.dips}
    np.testing.assert_allclose(after.index, before.index)


@pytest.mark.parametrize("factor", [1e-3, 7.3, 1e5])
def test_rescaling_time_rescales_the_report(factor: float) -> None:
    run = three_stage_run()
    before, after = detect(run), detect(run.assign_coords(step=run["step"] * factor))
    for name, view in before.views.items():
        scaled = [stage.start * factor for stage in view.stages]
        assert [stage.start for stage in after.views[name].stages] == pytest.approx(scaled, rel=1e-9)
        assert [stage.label for stage in after.views[name].stages] == [stage.label for stage in view.stages]
    assert [o.step for o in after.offshoots] == pytest.approx([o.step * factor for o in before.offshoots], rel=1e-9)
    assert [c.deepest.duration for c in after.compensation if c.deepest] == pytest.approx(
        [c.deepest.duration * factor for c in before.compensation if c.deepest], rel=1e-9
    )


def test_order_of_evaluations_does_not_matter() -> None:
    run = three_stage_run()
    shuffled = run.isel(step=np.random.default_rng(0).permutation(run.sizes["step"]))
    assert detect(shuffled).to_json() == detect(run).to_json()


def test_found_groups_equal_the_given_ones() -> None:
    run = three_stage_run()
    found = detect(run, groups="found")
    assert {pattern.lags for pattern in found.heads.patterns} == {(1, 2), (3, 4), (5, 6)}
    assert [(o.head, o.source, o.target) for o in found.offshoots] == [(2, "1-2", "3-4"), (3, "1-2", "5-6")]
    del run.attrs["groups"]
    assert [o.step for o in detect(run).offshoots] == [o.step for o in found.offshoots]
    assert any("groups are not known" in note for note in found.notes)


@pytest.mark.parametrize(
    ("missing", "left"),
    [
        ("excess_loss", {"function", "heads"}),
        ("kl", {"loss", "heads"}),
        ("attention_by_lag", {"function", "loss"}),
        ("value_coefficient", {"function", "loss", "heads"}),
    ],
)
def test_a_missing_variable_is_named_and_the_rest_is_read(missing: str, left: set[str]) -> None:
    report = detect(three_stage_run().drop_vars(missing))
    assert {name for name, view in report.views.items() if len(view.stages) == 3} == left
    assert any(missing in note for note in report.to_json()["agreement"]["notes"])
    assert str(report)


def test_plain_loss_stands_in_for_excess_loss() -> None:
    run = three_stage_run()
    loss = np.stack([np.full(101, np.nan), run["excess_loss"].values + 0.6], axis=1)
    plain = run.drop_vars("excess_loss").assign(loss=(("step", "split"), loss)).assign_coords(split=["train", "test"])
    assert detect(plain).loss.boundaries == pytest.approx(BOUNDARIES, abs=20)


def test_gaps_of_nan_are_left_out_and_counted() -> None:
    run = three_stage_run()
    run["excess_loss"][40:48] = np.nan
    run["attention_by_lag"][3, 0, 1, 2] = np.nan
    report = detect(run)
    assert report.loss.boundaries == pytest.approx(BOUNDARIES, abs=20)
    assert len(report.heads.stages) == 3
    notes = report.to_json()["agreement"]["notes"]
    assert "loss: 8 evaluations are not finite and were left out" in notes
    assert "heads: 1 evaluations of attention_by_lag are not finite and were left out" in notes
    json.dumps(report.to_json(), allow_nan=False)


def test_all_nan_is_unreadable_not_wrong() -> None:
    run = three_stage_run()
    for name in ("kl", "attention_by_lag"):
        run[name][:] = np.nan
    report = detect(run)
    assert report.function.stages == ()
    assert report.heads.stages == ()
    assert len(report.loss.stages) == 3
    assert report.agreement.agrees is None


@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_evaluations_say_what_remains(count: int) -> None:
    run = three_stage_run().isel(step=slice(-count, None))
    report = detect(run)
    assert report.loss.stages == report.function.stages == ()
    assert report.offshoots == ()
    assert report.events[0].specialisation.final == {1: 1, 2: 2, 3: 3}
    assert sum("too few" in note for note in report.notes) == 3
    json.dumps(report.to_json(), allow_nan=False)
    assert str(report)


def test_a_single_head_has_no_competition() -> None:
    report = detect(three_stage_run().isel(head=[1]))
    assert report.offshoots == ()
    assert report.competitive is None
    assert report.index is None
    assert report.heads.stages[0].label == "1"
    assert report.events[0].specialisation.final == {1: 2}
    assert any("one head" in note for note in report.notes)


def test_no_evaluations_is_an_error_with_a_fix() -> None:
    with pytest.raises(ConfigError, match="record at least one"):
        detect(three_stage_run().isel(step=[]))


def test_blocks_are_read_one_by_one() -> None:
    run = three_stage_run()
    other = permuted(run, [2, 0, 1])
    both = xr.Dataset(attrs=run.attrs)
    for name in ("attention_by_lag", "value_coefficient"):
        stacked = np.concatenate([run[name].values, other[name].values], axis=1)
        both[name] = (run[name].dims, stacked)
    both = both.assign_coords(step=run["step"], block=[1, 2], head=[1, 2, 3], lag=run["lag"], group=run["group"])
    report = detect(both)
    assert [(o.block, o.head, o.target) for o in report.offshoots] == [(1, 2, 2), (2, 3, 2), (1, 3, 3), (2, 1, 3)]
    assert [stage.label for stage in report.heads.stages] == ["1", "1+2", "1+2+3"]
    assert {o["block"] for o in report.to_json()["offshoots"]} == {1, 2}
    assert "head 2.3" in str(report)


def test_disagreement_is_noted_not_averaged() -> None:
    run = three_stage_run()
    steps = run["step"].values
    run["excess_loss"] = ("step", np.interp(steps - 150, steps, run["excess_loss"].values))
    report = detect(run)
    json_report = report.to_json()
    assert json_report["agreement"]["agrees"] is False
    late = json_report["agreement"]["boundaries"][0]
    assert late["loss"] - late["heads"] > 120
    assert any("boundary 1" in note and "apart" in note for note in json_report["agreement"]["notes"])


def test_timeline_data_and_text() -> None:
    report = detect(three_stage_run())
    data = report.timeline
    assert [[bar.label for bar in row.bars] for row in data.rows] == [[1], [1, 2], [1, 3]]
    assert data.competitive is not None
    text = str(report)
    lines = {line.split()[0] + line.split()[1]: line for line in text.splitlines() if line.strip().startswith("head ")}
    assert set(lines["head2"].split()[2]) <= {"·", "1", "2"}
    assert "head 2 leaves pattern 1 for pattern 2" in text
    assert "the views agree" in text


def test_the_examples_run() -> None:
    results = doctest.testmod(headwise.phases.detection)
    assert results.attempted == 11
    assert results.failed == 0


def test_patterns_that_were_found_are_named_by_their_lags() -> None:
    offshoot = Offshoot(step=40.0, block=1, head=2, source="3", target="9-11", interval=(30.0, 50.0))
    [sentence] = _changes([offshoot], "leaves", several=False)
    assert sentence == "offshoot at 40: head 2 leaves lag 3 for lags 9-11 (between 30 and 50)"
    assert next(_changes([offshoot], "leaves", several=True)).startswith("offshoot at 40: L0H1 leaves")
    role = RoleEvent(
        block=1, head=3, role="previous", start=20.0, end=90.0, score=0.8, chance=0.1, interval=(15.0, 25.0)
    )
    [part] = role_parts([role], start=0.0, several_blocks=False)
    assert part.what == "previous-token head 3"
