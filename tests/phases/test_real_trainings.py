"""Reports of real trainings: the paper's stored run, and small models whose story is known, most of them slow."""

from __future__ import annotations

from pathlib import Path

import pytest

from headwise import load
from headwise.phases.detection import detect
from headwise.phases.run_report import RunReport

STORED = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"
EVALUATION = 10.0


def test_a_published_minimal_run_reads_as_it_did() -> None:
    report = detect(load(STORED))
    assert [(o.head, o.source, o.target) for o in report.offshoots] == [(3, 1, 2), (2, 1, 3)]
    assert [o.step for o in report.offshoots] == pytest.approx([330.2, 501.4], abs=EVALUATION)
    assert report.competitive is not None
    assert report.competitive.start == pytest.approx(36, abs=EVALUATION)
    assert report.competitive.end == pytest.approx(330.2, abs=EVALUATION)
    assert report.agreement.agrees is True
    assert report.adds == report.undecided == ()


def test_the_same_drops_without_the_teacher() -> None:
    """The test loss alone, whose lower end nobody knows, drops where the excess loss does."""
    run = load(STORED)
    known, plain = detect(run).loss, detect(run.drop_vars("excess_loss")).loss
    assert plain.boundaries == pytest.approx(known.boundaries, abs=2 * EVALUATION)


def trained(tmp_path: Path, kind: str, place: int = 0) -> RunReport:
    from headwise.zoo.replay import replay
    from headwise.zoo.stored import read_run
    from headwise.zoo.train import train_one

    return replay(read_run(train_one(tmp_path, "development", kind, place))).report()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["markov_1", "repeats_varied"])
def test_induction_is_told_with_the_drop_of_the_loss(tmp_path: Path, kind: str) -> None:
    report = trained(tmp_path, kind)
    induction = [role for role in report.roles if role.role == "induction"]
    assert induction
    assert {role.block for role in induction} == {2}
    assert report.offshoots == ()
    assert any("induction head" in part.what for transition in report.transitions for part in transition.parts)
    assert any(part.kind == "loss drop" for transition in report.transitions for part in transition.parts)
    assert "before anything is learned" not in str(report)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_fixed_period_is_a_lag_and_no_induction(tmp_path: Path) -> None:
    roles = {role.role for role in trained(tmp_path, "repeats_fixed").roles}
    assert "induction" not in roles
    assert any(role.startswith("lag ") for role in roles)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_blurred_heads_of_characters_leave_nobody(tmp_path: Path) -> None:
    report = trained(tmp_path, "characters")
    assert report.offshoots == ()
    assert report.competitive is None
    assert "previous" in {role.role for role in report.roles}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["drift", "random_walk"])
def test_nothing_is_said_where_nothing_is_learned(tmp_path: Path, kind: str) -> None:
    report = trained(tmp_path, kind)
    assert report.offshoots == report.adds == report.transitions == report.loss.stages == ()
    assert report.competitive is None
    assert report.cooperative is None
    assert report.index is not None
    assert report.index.max() < 0.5


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_the_full_decoder_competes_before_its_heads_part(tmp_path: Path) -> None:
    """All heads on I(1) from about step 30 to 65, a few percent of a published run."""
    from headwise import experiment, train

    changes = {"train.steps": 150, "measure.test_samples": 200, "measure.at.every": 5}
    report = detect(train(experiment("full", changes=changes), out=tmp_path))
    assert report.competitive is not None
    assert report.competitive.start == pytest.approx(32, abs=12)
    assert 55 <= report.competitive.end <= 90
