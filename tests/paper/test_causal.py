"""The machinery of causal claims, on trajectories and runs whose answers are known."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from tests.conftest import tiny

from headwise.core.errors import ConfigError, HeadwiseError, Interrupted
from headwise.paper.causal import competition, cooperation, flow_beside
from headwise.paper.causal.claims import CLAIMS
from headwise.paper.causal.readings import excess_at, first_taking, once_measured, takings
from headwise.paper.causal.run import reproduce_causal
from headwise.paper.causal.stored import write_verdicts
from headwise.paper.causal.trial import Computed, Trial
from headwise.paper.limit import Limit
from headwise.store import RunDirectory, load_trajectory
from headwise.study.runner import execute


def drawn(moves: dict[int, tuple[int, int]], *, last: int = 1000) -> xr.Dataset:
    """Three heads on group 1 from step 80 on; `moves` says which head goes to which group, and when."""
    steps = np.arange(0, last + 1, 10)
    shares = np.zeros((len(steps), 1, 3, 3))
    shares[steps >= 80, 0, :, 0] = 0.9
    for head, (group, step) in moves.items():
        shares[steps >= step, 0, head - 1] = 0
        shares[steps >= step, 0, head - 1, group - 1] = 0.9
    return xr.Dataset(
        {
            "attention_by_group": (("step", "block", "head", "group"), shares),
            "excess_loss": (("step",), 1.0 / (1 + steps)),
        },
        coords={"step": steps},
    )


class Told(Trial):
    """A trial whose branches are given."""

    answers: dict[str, xr.Dataset]

    def parent(self, *, heads: int = 3, enough=None):
        return Computed(Path("parent"), self.answers["parent"])

    def branch(self, run, at, *, do=(), until=None, steps=None, changes=None, enough=None):
        key = next((name for name in self.answers if any(name in text for text in do)), "changed")
        return Computed(Path(key), self.answers[key])

    def sham(self, run, at, *, steps=None, enough=None):
        return self.branch(run, at, do=["sham"])


def told(**answers: xr.Dataset) -> Told:
    trial = Told(0, 0, "quick", Path("nowhere"))
    object.__setattr__(trial, "answers", answers)
    return trial


def test_takings_are_read_in_order() -> None:
    seen = drawn({3: (2, 360), 1: (3, 890)})
    assert [(t.step, t.head, t.group) for t in takings(seen, after=100) if t.group > 1] == [(360, 3, 2), (890, 1, 3)]
    assert first_taking(seen, 2, but=[3]) is None
    assert excess_at(seen, 365) == pytest.approx(1 / 361)


def test_another_head_in_the_same_time_passes_and_a_late_one_does_not() -> None:
    parent = drawn({3: (2, 360)})
    good = competition.judge_noise(told(parent=parent, freeze=drawn({1: (2, 380)}), sham=parent))
    late = competition.judge_noise(told(parent=parent, freeze=drawn({1: (2, 600)}), sham=parent))
    none = competition.judge_noise(told(parent=parent, freeze=drawn({}), sham=parent))
    assert (good.passed, late.passed, none.passed) == (True, False, False)
    assert good.measured == pytest.approx(20 / 280)


def test_the_sham_fails_every_claim_that_compares_with_it() -> None:
    """Branches that do nothing: no claim may be read as held."""
    parent = drawn({3: (2, 360), 1: (3, 700)})
    trial = told(**dict.fromkeys(("parent", "sham", "freeze", "tie", "perturb", "ablate", "clamp", "changed"), parent))
    for claim in CLAIMS:
        if claim.name != "late-start":
            assert not claim.judge(trial).passed, claim.name


def test_exchanged_norms() -> None:
    parent = drawn({3: (2, 360)})
    right = cooperation.judge_order(told(parent=parent, sham=parent, changed=drawn({3: (3, 400)})))
    wrong = cooperation.judge_order(told(parent=parent, sham=parent, changed=parent))
    assert (right.passed, wrong.passed) == (True, False)


def test_waiting_times_on_a_line() -> None:
    parent = drawn({3: (2, 360)})

    class Waiting(Told):
        def branch(self, run, at, *, do=(), until=None, steps=None, changes=None, enough=None):
            size = next((float(text.split("size=")[1]) for text in do if "size=" in text), None)
            wait = None if size is None else 700 + 10 * round(5 * math.log(1 / size) ** 2 / 10)
            answer = drawn({} if wait is None else {1: (2, wait)}, last=1700)
            object.__setattr__(self, "answers", {"parent": parent, "given": answer})
            return Told.branch(self, run, at, do=["given"])

    trial = Waiting(0, 0, "quick", Path("nowhere"))
    object.__setattr__(trial, "answers", {"parent": parent})
    found = competition.judge_symmetry(trial)
    assert found.passed
    assert found.measured == pytest.approx(1, abs=0.01)


def test_verdicts_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tiny(train__steps=20, train__checkpoint_every=10, train__keep_every=10, measure__at__every=10)
    monkeypatch.setattr(Trial, "config", lambda self, *, heads=3: small.changed({"seed": self.seed}))
    monkeypatch.setattr(cooperation, "RELEASED_AT", 10)
    monkeypatch.setattr(cooperation, "RELEASED_UNTIL", 20)
    monkeypatch.setitem(
        flow_beside.BESIDE, "late-start", lambda seed: "held at 9: group 1 and [2]; head 3 then takes none until 12"
    )
    found = reproduce_causal(["late-start"], seeds=[0], workers=1, out=tmp_path / "runs", into=tmp_path / "into")
    [stored] = json.loads((tmp_path / "into" / "causal.json").read_text())["verdicts"]
    assert stored["claim"] == "late-start"
    assert stored["notes"]["0"].startswith("held at 10")
    assert stored["flow"] == {"0": "held at 9: group 1 and [2]; head 3 then takes none until 12"}
    assert "late-start" in (tmp_path / "into" / "causal.md").read_text()
    assert str(found).startswith("late-start: ")
    with pytest.raises(ConfigError, match="did you mean kept"):
        reproduce_causal(["kep"])


def test_a_branch_stops_once_it_answers_and_goes_on_when_more_is_asked(tmp_path: Path) -> None:
    small = tiny(train__steps=60, train__checkpoint_every=10, train__keep_every=10, measure__at__every=5)
    whole = execute(small, tmp_path / "whole")

    class Small(Trial):
        def config(self, *, heads: int = 3):
            return small

    trial = Small(0, 0, "quick", tmp_path / "runs")
    run, part = trial.parent(enough=once_measured(20))
    assert 20 <= int(part.step[-1]) < 60
    assert not RunDirectory(run).manifest_path.exists()
    before = sorted(path.name for path in run.iterdir())
    assert trial.parent(enough=once_measured(20)).trajectory.identical(part)
    assert sorted(path.name for path in run.iterdir()) == before
    assert trial.branch(run, 20, do=["freeze:heads=1"], enough=once_measured(40)).trajectory.step[0] == 20
    assert trial.parent().trajectory.identical(load_trajectory(whole.path))
    assert len(trial.used) == 4


def test_a_trial_that_is_asked_to_stop_says_so(tmp_path: Path) -> None:
    small = tiny(train__steps=60, train__checkpoint_every=10)

    class Small(Trial):
        def config(self, *, heads: int = 3):
            return small

    with pytest.raises(Interrupted):
        Small(0, 0, "quick", tmp_path, stop_asked=lambda: True).parent(enough=once_measured(20))


def test_a_stop_begins_no_further_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = tiny(train__steps=60, train__checkpoint_every=10)
    monkeypatch.setattr(Trial, "config", lambda self, *, heads=3: small.changed({"seed": self.seed}))
    options = {"seeds": [0, 1, 2], "out": tmp_path / "runs", "into": tmp_path / "into"}
    with pytest.raises(Interrupted):
        reproduce_causal(["late-start"], workers=1, stop_asked=lambda: True, **options)
    assert len(list((tmp_path / "runs").glob("*/*-s*"))) == 1
    assert not (tmp_path / "into" / "causal.json").exists()


def test_workers_answer_from_processes_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(HeadwiseError, match="file"):
        reproduce_causal(["late-start"], seeds=[0, 1], workers=2, out=tmp_path / "file", into=tmp_path / "into")


def test_verdicts_of_other_claims_at_the_same_scale_stay(tmp_path: Path) -> None:
    def told_of(name: str, scale: str, passed: int) -> dict[str, object]:
        return {
            "claim": name, "scale": scale, "outcome": "reproduced", "passed": passed, "quantity": "q", "measured": None,
            "interval": None, "threshold": "t", "statement": "s", "notes": {"0": "n"}, "flow": {"0": "f"},
            "test": {"commit": "c" * 40, "date": "2026-11-01T12:00:00+00:00"},
            "runs": {"first_begun": "2026-11-01T11:00:00+00:00"},
        }  # fmt: skip

    write_verdicts([told_of("kept", "paper", 1)], tmp_path, scale="paper")
    write_verdicts([told_of("noise-decides", "paper", 2)], tmp_path, scale="paper")
    write_verdicts([told_of("kept", "paper", 3)], tmp_path, scale="paper")
    stored = json.loads((tmp_path / "causal.json").read_text())["verdicts"]
    assert [(one["claim"], one["passed"]) for one in stored] == [("noise-decides", 2), ("kept", 3)]
    assert "NOT before the first of its runs began" in (tmp_path / "causal.md").read_text()
    write_verdicts([told_of("late-start", "quick", 1)], tmp_path, scale="quick")
    assert [one["claim"] for one in json.loads((tmp_path / "causal.json").read_text())["verdicts"]] == ["late-start"]


def test_the_flow_stands_beside_every_claim() -> None:
    assert set(flow_beside.BESIDE) == {claim.name for claim in CLAIMS}


def test_limits_are_objects_that_decide() -> None:
    assert all(claim.limit is None or isinstance(claim.limit, Limit) for claim in CLAIMS)
