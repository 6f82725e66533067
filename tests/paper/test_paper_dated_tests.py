"""Every verdict names the commit of its test, which is older than the runs it judged."""

from __future__ import annotations

import ast
import json
from datetime import datetime
from pathlib import Path

import pytest

from headwise.paper import dated_tests, judge
from headwise.paper.causal.claim import CausalClaim
from headwise.paper.causal.claims import CLAIMS as CAUSAL
from headwise.paper.dated_tests import dated_test, digest_of, fixed_before, modules_of
from headwise.paper.entry import Claim
from headwise.paper.judge import CHANGED_SINCE
from headwise.paper.manifest import ENTRIES
from headwise.paper.verdict import Judgement, Verdict
from headwise.paper.verdict_file import add_verdicts, read_verdicts

CLAIMS = [entry for entry in ENTRIES.values() if isinstance(entry, Claim)]
RESULTS = Path(__file__).parents[2] / "results"


@pytest.mark.parametrize("claim", [*CLAIMS, *CAUSAL], ids=lambda claim: claim.name)
def test_the_commit_of_every_test_is_kept(claim: Claim | CausalClaim) -> None:
    """After a change of a test has landed: python -m headwise.paper.dated_tests."""
    found = dated_test(claim)
    assert found["commit"], "the test changed: commit it, then run python -m headwise.paper.dated_tests"
    assert len(found["commit"]) == 40
    assert datetime.fromisoformat(found["date"]).tzinfo is not None


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in RESULTS.glob("*/verdicts.json")))
def test_every_stored_verdict_is_of_a_test_that_was_fixed_before_its_runs_ended(folder: str) -> None:
    """What is judged by a younger test, or by one without a date, decides nothing and is not kept as a result."""
    for verdict in read_verdicts(RESULTS / folder / "verdicts.json"):
        name, claim = f"{verdict.claim} ({verdict.preset})", ENTRIES[verdict.claim]
        assert isinstance(claim, Claim)
        assert verdict.test.get("commit"), f"{name}: judged by a test that was not committed"
        dated = "first_ended" in verdict.runs
        assert dated == bool(claim.experiments), f"{name}: the dates of its runs are not known"
        assert fixed_before(verdict.test, verdict.runs) is not False or verdict.outcome == "inconclusive", name
        assert CHANGED_SINCE not in verdict.notes.values() or verdict.outcome == "inconclusive", name


@pytest.mark.parametrize("file", sorted(RESULTS.glob("causal/*/causal.json")), ids=lambda file: file.parent.name)
def test_every_stored_causal_verdict_is_of_a_test_that_was_fixed_before_its_runs_began(file: Path) -> None:
    for verdict in json.loads(file.read_text())["verdicts"]:
        assert verdict["test"]["commit"], verdict["claim"]
        assert fixed_before(verdict["test"], verdict["runs"]), verdict["claim"]
        assert verdict["flow"], f"{verdict['claim']}: the flow stands beside every number"


def test_a_verdict_says_that_its_test_is_younger_than_its_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    claim = next(one for one in CLAIMS if one.name == "order")
    ended = "2026-11-01T12:00:00+00:00"
    monkeypatch.setattr(judge, "dates_of", lambda paths: {"commits": [], "first_ended": ended, "last_ended": ended})
    for date, said in (("2026-11-01T11:00:00+00:00", False), ("2026-11-01T15:00:00+01:00", True), (None, True)):
        monkeypatch.setattr(judge, "dated_test", lambda claim, date=date: {"digest": "", "commit": "c", "date": date})
        verdict = judge.verdict_of(claim, "published", "paper", {0: Judgement(True, 0.1)}, [tmp_path])
        assert ("test" in verdict.notes) == said
        assert read_verdicts(_stored(verdict, tmp_path)) == [verdict]


def _stored(verdict: Verdict, into: Path) -> Path:
    add_verdicts([verdict], into)
    return into / "verdicts.json"


def test_a_digest_follows_statements_and_not_their_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    digests = []
    for k, source in enumerate(
        (
            'LIMIT = 0.5\n\n\ndef judge(x):\n    """Words."""\n    return x > LIMIT\n',
            '"""A module."""\nLIMIT = 0.5\n"""About it."""\ndef judge(x):\n    # other words\n    return (x > LIMIT)\n',
            "LIMIT = 0.6\n\n\ndef judge(x):\n    return x > LIMIT\n",
        )
    ):
        ast.parse(source)
        (tmp_path / f"dated_example_{k}.py").write_text(source)
        digests.append(digest_of((f"dated_example_{k}",)))
    assert digests[0] == digests[1] != digests[2]


def test_a_test_that_changed_has_no_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dated_tests, "_kept", dict)
    assert dated_test(CLAIMS[0])["date"] is None


def test_every_claim_is_dated_by_the_module_of_its_own_test() -> None:
    for claim in CLAIMS:
        assert modules_of(claim)[0].startswith("headwise.paper.claims.")
    order = next(one for one in CLAIMS if one.name == "order")
    assert {"headwise.paper.stages", "headwise.paper.limit", "headwise.paper.acquisition"} < set(modules_of(order))
