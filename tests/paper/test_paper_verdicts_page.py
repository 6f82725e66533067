"""Which figures a claim opens, and that the page says what the folder holds."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import get_args

import pytest

from headwise.cli.main import main
from headwise.core.errors import HeadwiseError
from headwise.paper import scale, statement_file
from headwise.paper.draw import Drawn, add_figures, read_figures
from headwise.paper.entry import Claim
from headwise.paper.judge import verdict_of
from headwise.paper.manifest import ENTRIES, HEADLINE, select
from headwise.paper.places import place
from headwise.paper.plan import Plan
from headwise.paper.scale import Size
from headwise.paper.statement_file import keep_statements, read_statements
from headwise.paper.verdict import Judgement, Outcome
from headwise.paper.verdicts import verdict_text
from headwise.paper.verdicts_page import MOODS, STATEMENT_MOODS, figures_of, illustrations, shown_verdict
from headwise.theory.registry import run_checks
from headwise.theory.statement import Verdict as StatementVerdict

CLAIMS = [entry for entry in ENTRIES.values() if isinstance(entry, Claim)]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_every_claim_with_runs_has_a_figure_of_its_own_runs(claim: Claim, tmp_path: Path) -> None:
    plan = Plan((claim,), ("published",), "quick", (0,), tmp_path)
    shown = [*figures_of(claim), *illustrations(plan)]
    assert bool(shown) == bool(claim.experiments or "fig:" in claim.label)
    for figure in shown:
        assert set(claim.experiments) <= set(figure.experiments)


@pytest.mark.parametrize(
    ("claim", "figure"),
    [
        ("order", "fig-overview"),
        ("offshoot-full", "fig-attention"),
        ("init-scale", "fig-ablations"),
        ("early-stop", "fig-generalization"),
        ("flow-theory", "fig-theory"),
    ],
)
def test_the_figure_is_the_one_the_paper_has_there(claim: str, figure: str) -> None:
    assert figure in [entry.name for entry in figures_of(next(one for one in CLAIMS if one.name == claim))]


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=lambda entry: entry.name)
def test_places_are_those_that_a_reader_finds(entry: Claim) -> None:
    """No label of the source is left; figures are numbered from 1 to 21 and claims name one of these or a section."""
    said = place(entry.label)
    assert not re.search(r"\b(fig|sec|app):", said)
    assert all(1 <= int(number) <= 21 for number in re.findall(r"Fig\. (\d+)", said))
    assert re.search(r"Fig\.|§|App\.|sec\.|app\.|published figures", said)


def test_the_headline_draws_what_its_claims_open() -> None:
    for entry in select(HEADLINE):
        if isinstance(entry, Claim) and (figures := figures_of(entry)):
            assert {figure.name for figure in figures} & set(HEADLINE), entry.name


def test_statements_are_kept_beside_the_verdicts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_theorems = Plan(tuple(select(["order"])), ("published",), "quick", (0,), tmp_path)
    assert keep_statements(without_theorems, tmp_path) == []
    plan = Plan(tuple(select(["theorems"])), ("published",), "quick", (0,), tmp_path)
    monkeypatch.setattr(statement_file, "checked", lambda scale, seed: run_checks(["ordering"], trials=2, seed=seed))
    [statement] = keep_statements(plan, tmp_path)
    assert statement["printed"]["verdict"] == "fails"
    assert keep_statements(without_theorems, tmp_path) == [statement], "those of an earlier command stay"
    (tmp_path / "statements.json").write_text(json.dumps([statement]))
    assert read_statements(tmp_path) == [statement], "a bare list is read too"
    (tmp_path / "statements.json").write_text("[")
    with pytest.raises(HeadwiseError, match=r"statements\.json"):
        read_statements(tmp_path)


def test_every_outcome_has_a_colour() -> None:
    assert set(MOODS) == set(get_args(Outcome))
    assert set(STATEMENT_MOODS) == set(get_args(StatementVerdict))


def test_a_row_opens_the_figures_that_were_drawn_for_it(tmp_path: Path) -> None:
    """By entry, reading and scale, whatever the files are called."""
    claim = next(one for one in CLAIMS if one.name == "order")
    verdict = verdict_of(claim, "published", "quick", {0: Judgement(True, 0.4)})
    figures = [
        Drawn("fig-overview", "published", "quick", tmp_path / "a.png"),
        Drawn("fig-overview", "text", "quick", tmp_path / "b.png"),
        Drawn("fig-kl", "published", "quick", tmp_path / "order.png"),
    ]
    shown = shown_verdict(verdict, figures)
    assert shown.figures == [tmp_path / "a.png"]
    assert shown.mood == "good"
    assert shown.values["says"] == claim.about
    assert shown.values["unit"] == claim.unit
    assert f"[{claim.unit}]" in " ".join(verdict_text(verdict).split())
    earlier = dataclasses.replace(verdict, quantity="what an earlier test measured")
    assert shown_verdict(earlier, []).values["unit"] == "", "the unit of another quantity is not this one's"
    assert claim.unit not in verdict_text(earlier)


def test_a_folder_knows_the_figures_of_earlier_commands(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_bytes(b"png")
    first = Drawn("fig-overview", "published", "quick", tmp_path / "a.png")
    second = Drawn("fig-kl", "published", "quick", tmp_path / "b.png")
    assert add_figures([first], tmp_path) == [first]
    assert add_figures([second], tmp_path) == [first, second]
    larger = Drawn("fig-kl", "published", "paper", tmp_path / "b.png")
    assert add_figures([larger], tmp_path) == [first, larger], "one file is at one scale"
    (tmp_path / "a.png").unlink()
    assert read_figures(tmp_path) == [larger]


@pytest.mark.usefixtures("short_fits")
def test_the_command_writes_the_page_and_says_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(scale.MINIMAL, "quick", Size(30, 20, 30, 5))
    folders = ["--out", str(tmp_path / "runs"), "--into", str(tmp_path / "into"), "--workers", "1", "-q"]
    assert main(["reproduce", "weight-decay", "--seeds", "0", *folders]) == 0
    page = tmp_path / "into" / "index.html"
    assert f"wrote {page}" in capsys.readouterr().err
    assert (tmp_path / "into" / "runs-weight-decay-published.png").exists()
    assert main(["reproduce", "symmetry", "--seeds", "0", *folders]) == 0
    text = page.read_text()
    for item in json.loads((tmp_path / "into" / "verdicts.json").read_text())["verdicts"]:
        assert f">{item['claim']}</button>" in text, "verdicts of an earlier command stay on the page"
    assert "runs-weight-decay-published.png" in text
