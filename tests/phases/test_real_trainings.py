"""Reports of real trainings: the paper's stored run, and small models whose story is known, some of them slow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headwise import load
from headwise.phases.detection import detect
from headwise.phases.run_report import RunReport
from headwise.zoo.stored import Stored

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


def run_of(kind: str, *, changes: Mapping[str, Any] | None = None, seed: int = 0) -> Stored:
    """A training of the zoo, whose models and tasks share no code with headwise's own."""
    import torch

    from headwise.zoo.kinds import find_kind
    from headwise.zoo.loop import run

    torch.set_num_threads(1)
    setting, _ = find_kind(kind).plan("development")[0]
    return run(find_kind(kind), {**setting, **(changes or {})}, seed)


def report_of(stored: Stored) -> RunReport:
    from headwise.zoo.replay import replay

    return replay(stored).report()


def trained(kind: str, *, changes: Mapping[str, Any] | None = None, seed: int = 0) -> RunReport:
    return report_of(run_of(kind, changes=changes, seed=seed))


XAVIER = {"vocabulary": 30, "length": 12, "heads": 2, "groups": [[1], [3]], "start": "xavier", "warmup": 0}


def test_a_minimal_model_from_xavier_drops_twice() -> None:
    """It falls from the first step on, rests, and falls again while a head leaves; the report places the second."""
    from headwise.zoo.truth.boundary import find_boundaries

    stored = run_of("paper_minimal", changes={**XAVIER, "rate": 0.05, "steps": 500, "batch": 64})
    first, second = find_boundaries(stored.looks, stored.validation_loss)
    report = report_of(stored)
    assert first.start == 0
    assert len(report.loss.stages) == 2
    low, high = report.loss.stages[1].interval or (0, 0)
    assert first.end < low < second.end
    assert second.start < high
    assert [(o.source, o.target) for o in report.offshoots] == [("1", "3")]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("changes", [{"task.w": 6, "train.batch": 500}, {}], ids=["small", "paper"])
def test_the_papers_xavier_start_drops_twice_with_and_without_the_teacher(
    tmp_path: Path, changes: Mapping[str, Any]
) -> None:
    """Both losses drop twice, as heads leave; the small one's excess loss rests nowhere, so it has no plateaus."""
    from headwise import experiment, train

    given = {"train.steps": 600, "measure.test_samples": 600, **changes}
    run = train(experiment("init-xavier", "redrawn", changes=given), out=tmp_path)
    known, plain = detect(run), detect(run.drop_vars("excess_loss"))
    assert len(known.loss.boundaries) == 2
    assert [o.step for o in known.offshoots] == pytest.approx(known.loss.boundaries, abs=3 * EVALUATION)
    assert plain.loss.boundaries == pytest.approx(known.loss.boundaries, abs=2 * EVALUATION)


MARKOV = {"vocabulary": 3, "peak": 1.0, "length": 48, "heads": 1, "positions": "absolute", "warmup": 0}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("kind", "changes"),
    [("markov_1", {**MARKOV, "rate": 0.001, "steps": 1000}), ("repeats_varied", {})],
    ids=["markov_1", "repeats_varied"],
)
def test_induction_is_told_with_the_drop_of_the_loss(kind: str, changes: Mapping[str, Any]) -> None:
    report = trained(kind, changes=changes)
    induction = [role for role in report.roles if role.role == "induction"]
    assert induction
    assert {role.block for role in induction} == {2}
    assert report.offshoots == ()
    together = [{part.what.split(" L")[0] for part in transition.parts} for transition in report.transitions]
    assert any({"induction head", "loss drop"} <= parts for parts in together)
    assert "before anything is learned" not in str(report)
    assert report.agreement.agrees is not True


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_drop_that_runs_into_the_one_before_cannot_be_told() -> None:
    """In-context Markov chains that are learned fast: the drop of induction begins before the first one is over."""
    report = trained("markov_1")
    assert {role.block for role in report.roles if role.role == "induction"} == {2}
    assert report.offshoots == ()
    assert len(report.loss.stages) == 2
    (item,) = [item for item in report.undecided if "loss" in item.what]
    taken_up = [role.interval for role in report.roles if role.role == "induction"]
    assert any(low <= (item.step or 0) <= high for low, high in taken_up)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_fixed_period_is_a_lag_and_no_induction() -> None:
    roles = {role.role for role in trained("repeats_fixed").roles}
    assert "induction" not in roles
    assert any(role.startswith("lag ") for role in roles)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(5))
def test_blurred_heads_of_characters_leave_nobody(seed: int) -> None:
    report = trained("characters", seed=seed)
    assert report.offshoots == ()
    assert report.competitive is None
    assert "previous" in {role.role for role in report.roles}


@pytest.mark.parametrize("kind", ["drift", "random_walk"])
def test_nothing_is_said_where_nothing_is_learned(kind: str) -> None:
    report = trained(kind)
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
