"""Head importance on the page: which heads a watched model needs over training, and which stand in for each other."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from watched_runs import watched_member, watched_trajectory

from headwise.view.report import write_runs_page

TITLE, PAIRS = "Head importance", "Heads that stand in for each other, now"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("importance") / "page.html"
    write_runs_page(file, [watched_member(importance=8)])
    return file


def panel_of(page, title: str):
    return page.locator(".panel", has=page.get_by_role("heading", name=title, exact=True))


def downloaded(page, title: str) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.get_by_label(f"Download the data of {title} as CSV").click()
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))


def coloured(panel) -> int:
    """Pixels of a drawing that have a colour."""
    return panel.locator("canvas").first.evaluate(
        """canvas => { const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            let count = 0;
            for (let i = 0; i < data.length; i += 4) {
              const [r, g, b, a] = data.slice(i, i + 4);
              if (a > 0 && Math.max(r, g, b) - Math.min(r, g, b) > 40) count++;
            }
            return count; }"""
    )


def test_the_panels_show_the_stored_numbers(open_page, path: Path) -> None:
    watched = open_page(path)
    page, trajectory = watched.page, watched_trajectory(importance=8)
    panel = panel_of(page, TITLE)
    panel.scroll_into_view_if_needed()
    watched.settle()
    panel.locator(".ask").click()
    assert "replaced, at every position, by its mean" in panel.locator(".about").inner_text()
    for choice, name in (("its mean", "head_importance"), ("zero", "head_importance_zero")):
        panel.get_by_role("combobox").select_option(label=f"output replaced by {choice}")
        watched.settle()
        rows = [list(row.values())[2:] for row in downloaded(page, TITLE)]
        found = np.array([[float(cell or "nan") for cell in row] for row in rows], np.float32)
        assert np.array_equal(found, trajectory[name].values[:, 0].astype(np.float32), equal_nan=True)
    assert coloured(panel) > 200
    assert not watched.complaints


def test_pairs_are_those_of_the_last_look_that_measured_them(open_page, path: Path) -> None:
    watched = open_page(path)
    page, trajectory = watched.page, watched_trajectory(importance=8)
    steps = trajectory["step"].values
    page.evaluate(f"headwise.goTo({steps[-3]})")
    watched.settle()
    panel = panel_of(page, PAIRS)
    assert f"step {steps[-9]:g};" in panel.locator(".readout").inner_text()
    rows = downloaded(page, PAIRS)
    found = np.array([float(row["redundancy of two heads"] or "nan") for row in rows], np.float32).reshape(4, 4)
    expected = trajectory["pair_redundancy"].values[-9, 0].astype(np.float32)
    assert np.array_equal(found, expected, equal_nan=True)
    assert coloured(panel) > 1000, "the largest of the run has the full colour, however small it is"


def test_one_measurement_is_a_point_that_can_be_seen(open_page, tmp_path: Path) -> None:
    write_runs_page(tmp_path / "last.html", [watched_member(importance=100)])
    watched = open_page(tmp_path / "last.html")
    panel = panel_of(watched.page, TITLE)
    panel.scroll_into_view_if_needed()
    watched.settle()
    assert coloured(panel) > 50
    assert not watched.complaints


def test_a_model_without_it_beside_one_with_it(open_page, tmp_path: Path) -> None:
    write_runs_page(tmp_path / "two.html", [watched_member("with", importance=8), watched_member("without")])
    watched = open_page(tmp_path / "two.html")
    assert watched.page.get_by_text("without kept none of this").count() == 1
    assert not watched.complaints


def test_the_page_says_what_the_report_says_and_axe_finds_nothing(open_page, path: Path) -> None:
    watched = open_page(path)
    assert "the loss rises without" in watched.page.locator("body").text_content()
    assert Axe().run(watched.page).violations_count == 0
