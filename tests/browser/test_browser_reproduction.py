"""The page that `headwise reproduce` writes, opened as a reader would: from runs to a row with its figure."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from tests.conftest import shorten_fits

from headwise.cli.main import main
from headwise.paper import scale, statement_file
from headwise.paper.claims import exact
from headwise.paper.scale import Size
from headwise.theory.registry import Result, run_checks

CHECKED = ("ordering", "coupling")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reproduction of runs too short for stages and of two statements."""
    root = tmp_path_factory.mktemp("reproduction")

    def few(which: str, seed: int) -> tuple[Result, ...]:
        return tuple(run_checks(CHECKED, trials=2, seed=seed))

    names = ["order", "gauge", "symmetry", "theorems", "weight-decay", "fig-overview"]
    into = ["--out", str(root / "runs"), "--into", str(root / "into"), "--workers", "1", "-q"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(scale.MINIMAL, "quick", Size(30, 20, 30, 5))
        shorten_fits(patch)
        patch.setattr(exact, "checked", few)
        patch.setattr(statement_file, "checked", few)
        patch.setattr("sys.argv", ["/somewhere/bin/headwise", "reproduce", *names, "--seeds", "0..1"])
        assert main(["reproduce", *names, "--seeds", "0..1", *into]) == 0
    return root / "into"


def test_rows_open_figures_and_numbers(open_page, folder: Path) -> None:
    watched = open_page(folder / "index.html")
    page = watched.page
    verdicts = json.loads((folder / "verdicts.json").read_text())["verdicts"]
    claims = page.locator("[data-table=claims]")
    assert [text.strip() for text in claims.locator(".open").all_inner_texts()] == [item["claim"] for item in verdicts]
    for item, figure in (("order", "fig-overview"), ("weight-decay", "runs-weight-decay")):
        row = claims.locator("tbody", has=page.get_by_role("button", name=item, exact=True))
        row.locator(".open").press("Enter")
        image = row.locator(f"figure[data-figure='{figure}-published.png'] img")
        assert image.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
        verdict = next(one for one in verdicts if one["claim"] == item)
        shown = row.locator(".detail").inner_text()
        assert verdict["quantity"] in shown
        assert all(note in " ".join(shown.split()) for note in verdict["notes"].values())
    assert watched.complaints == []
    assert [url for url in watched.requests if not url.startswith(("file:", "data:"))] == []


def test_the_table_sorts_and_filters(open_page, folder: Path) -> None:
    page = open_page(folder / "index.html").page
    verdicts = json.loads((folder / "verdicts.json").read_text())["verdicts"]
    claims = page.locator("[data-table=claims]")
    names = lambda: [text.strip() for text in claims.locator("tbody:visible .open").all_inner_texts()]  # noqa: E731
    claims.get_by_role("button", name="claim", exact=True).click()
    assert names() == sorted(item["claim"] for item in verdicts)
    reproduced = [item["claim"] for item in verdicts if item["verdict"] == "reproduced"]
    assert 0 < len(reproduced) < len(verdicts)
    claims.locator(".filter[data-verdict=reproduced]").click()
    assert names() == sorted({item["claim"] for item in verdicts} - set(reproduced))


def test_statements_and_where_it_comes_from(open_page, folder: Path) -> None:
    page = open_page(folder / "index.html").page
    theory = page.locator("[data-table=statements]")
    assert [text.strip() for text in theory.locator(".open").all_inner_texts()] == sorted(CHECKED, reverse=True)
    theory.locator(".open").first.press("Enter")
    stored = json.loads((folder / "statements.json").read_text())["statements"][0]
    assert stored["corrected"]["claim"] in theory.locator(".detail").first.inner_text()
    about = page.locator(".provenance").inner_text()
    [command] = [line for line in about.splitlines() if line.startswith("headwise reproduce ")]
    words = shlex.split(command)
    names = ["order", "gauge", "symmetry", "theorems", "weight-decay", "fig-overview"]
    assert words[: 2 + len(names)] == ["headwise", "reproduce", *names]
    assert {"--preset", "--scale", "--seeds", "--out", "--into"} <= set(words)
    assert "judged with commit" in about
    assert "torch" in about


def test_figures_fit_a_phone(open_page, folder: Path) -> None:
    watched = open_page(folder / "index.html", width=360, height=740)
    page = watched.page
    page.locator("[data-table=claims] .open").first.click()
    page.locator("[data-table=claims] figure img").first.evaluate("image => image.decode()")
    box = page.locator("[data-table=claims] figure img").first.bounding_box()
    assert box is not None
    assert box["width"] <= 360
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
