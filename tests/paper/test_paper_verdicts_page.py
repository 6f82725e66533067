"""Which figures a claim opens, and that the page says what the folder holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwise.cli.main import main
from headwise.core.errors import HeadwiseError
from headwise.paper import scale
from headwise.paper.entry import Claim
from headwise.paper.manifest import ENTRIES, HEADLINE, select
from headwise.paper.plan import Plan
from headwise.paper.scale import Size
from headwise.paper.verdicts_page import figures_of, illustrations, read_statements, write_statements

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


def test_the_headline_draws_what_its_claims_open() -> None:
    for entry in select(HEADLINE):
        if isinstance(entry, Claim) and (figures := figures_of(entry)):
            assert {figure.name for figure in figures} & set(HEADLINE), entry.name


def test_statements_are_kept_beside_the_verdicts(tmp_path: Path) -> None:
    assert read_statements(tmp_path) == []
    found = [{"name": "ordering", "label": "Eq.", "printed": {"verdict": "fails", "error": None}}]
    write_statements(found, tmp_path)
    assert read_statements(tmp_path) == found
    (tmp_path / "statements.json").write_text("[")
    with pytest.raises(HeadwiseError, match=r"statements\.json"):
        read_statements(tmp_path)


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
    for item in json.loads((tmp_path / "into" / "verdicts.json").read_text()):
        assert f">{item['claim']}</button>" in text, "verdicts of an earlier command stay on the page"
    assert "runs-weight-decay-published.png" in text
