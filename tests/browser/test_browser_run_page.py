"""The published minimal run's page in a real browser: what it shows is what is stored, and everything can be reached.

`data/` holds that run (seed 0, 1000 steps) without its checkpoints.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.image import imread

from headwise.phases.detection import detect
from headwise.view.report import read_member, write_runs_page

PAUSE = 120
"""Milliseconds: the browser drops a download that comes as the eleventh within a second."""

RUN = Path(__file__).parent / "data" / "minimal" / "0ea5daec-s0"


@pytest.fixture(scope="module")
def stored() -> xr.Dataset:
    return read_member(RUN).trajectory


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "run.html"
    assert write_runs_page(file, [read_member(RUN)]) == file.stat().st_size
    return file


def table(download: object) -> list[dict[str, str]]:
    text = Path(download.path()).read_text(encoding="utf-8")  # type: ignore[attr-defined]
    return list(csv.DictReader(io.StringIO(text)))


def fetch(page: object, label: str) -> object:
    with page.expect_download() as download:  # type: ignore[attr-defined]
        page.get_by_label(label, exact=True).click()  # type: ignore[attr-defined]
    return download.value


def test_loads_without_a_word_and_without_the_network(open_page, path: Path) -> None:
    watched = open_page(path)
    for step in (0, 330, 1000):
        watched.page.evaluate(f"headwise.goTo({step})")
        watched.settle()
    for scale in ("log", "linear"):
        watched.page.get_by_label(scale, exact=True).check(force=True)
        watched.settle()
    for theme in ("dark", "light", "auto"):
        watched.page.locator("#theme").select_option(theme)
        watched.settle()
    assert watched.complaints == []
    assert {url.split("#")[0] for url in watched.requests} == {path.as_uri()}


def test_the_policy_forbids_everything_else(open_page, path: Path) -> None:
    watched = open_page(path)
    watched.page.evaluate("window.hacked = 0")
    watched.page.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.hacked = 1'; document.body.append(script);
            const image = new Image(); image.src = 'https://example.org/x.png'; document.body.append(image);
            const button = document.createElement('button'); button.setAttribute('onclick', 'window.hacked = 2');
            document.body.append(button); button.click();
        }"""
    )
    assert (
        watched.page.evaluate("fetch('https://example.org').then(() => 'came through', () => 'refused')") == "refused"
    )
    assert watched.page.evaluate("window.hacked") == 0
    assert len(watched.complaints) >= 4, "the browser reports each of the four attempts"


def test_the_slider_shows_exactly_the_stored_attention(open_page, path: Path, stored: xr.Dataset) -> None:
    watched = open_page(path)
    page = watched.page
    for i, step in enumerate(stored["snapshot"].values.tolist()):
        page.evaluate(f"headwise.goTo({step})")
        shown = page.evaluate("headwise.attention()")
        assert shown["step"] == step
        expected = stored["attention_map"].values[i, 0].reshape(3, -1)
        assert np.array_equal(np.array(shown["values"], dtype=np.float32), expected)
    # With the mouse: the middle of the track is the middle of the run.
    box = page.locator("#slider").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    watched.settle()
    assert watched.state() == 500
    assert page.locator("#now").inner_text() == "step 500"
    expected = stored["attention_map"].sel(snapshot=500).values[0].reshape(3, -1)
    assert np.array_equal(np.array(page.evaluate("headwise.attention()")["values"], dtype=np.float32), expected)


@pytest.mark.parametrize("height", [900, 300])
def test_cells_are_drawn_in_the_colours_of_their_values(open_page, path: Path, stored: xr.Dataset, height: int) -> None:
    """Pixels of the first head's own map: background plus value over the full share, times the way to its colour.

    Maps beyond the screen are not painted while the slider moves; scrolling to one must show the present step.
    """
    watched = open_page(path, height=height)
    watched.page.evaluate("headwise.goTo(1000)")
    watched.settle()
    watched.page.locator(".singles canvas").first.scroll_into_view_if_needed()
    watched.page.evaluate("new Promise(done => setTimeout(done, 100))")
    watched.settle()
    picture = watched.page.evaluate(
        """() => { const canvas = document.querySelector('.singles canvas');
            const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return {width: canvas.width, height: canvas.height, data: Array.from(data)}; }"""
    )
    pixels = np.array(picture["data"], dtype=float).reshape(picture["height"], picture["width"], 4)
    values = stored["attention_map"].sel(snapshot=1000).values[0, 0]
    rows = (1 + (np.arange(20) + 0.5) / 20 * (picture["height"] - 2)).astype(int)
    columns = (1 + (np.arange(25) + 0.5) / 25 * (picture["width"] - 2)).astype(int)
    red = pixels[np.ix_(rows, columns)][..., 0]
    seen = np.arange(1, 26)[None] <= np.arange(6, 26)[:, None]
    # Head 1 is #0072B2: no red at all where its colour is full, all red where there is no attention.
    strong, none = seen & (values > 0.495), seen & (values < 3e-3)
    assert strong.sum() >= 5
    assert none.sum() >= 50
    assert red[strong].max() <= 2
    assert red[none].min() >= 250
    order = np.argsort(values[seen])
    assert np.all(np.diff(red[seen][order]) <= 1.01), "more attention must never be paler"


def test_clicking_an_offshoot_goes_there(open_page, path: Path, stored: xr.Dataset) -> None:
    report = detect(stored)
    assert len(report.offshoots) == 2
    watched = open_page(path)
    marks = watched.page.locator(".mark")
    assert marks.count() == 2
    steps = stored["step"].values
    for i, offshoot in enumerate(report.offshoots):
        marks.nth(i).click()
        watched.settle()
        assert watched.state() == steps[np.abs(steps - offshoot.step).argmin()]
        assert f"head {offshoot.head} leaves I({offshoot.source}) for I({offshoot.target})" in marks.nth(
            i
        ).get_attribute("aria-label")
        assert f"head {offshoot.head} for I({offshoot.target})" in watched.page.locator("#now-phase").inner_text()
    watched.page.locator(".band.competitive").click(position={"x": 5, "y": 10})
    watched.settle()
    assert watched.state() == steps[np.abs(steps - report.competitive.start).argmin()]
    watched.page.evaluate("headwise.goTo(0)")
    visited = []
    for _ in range(3):
        watched.page.locator("#event-next").click()
        watched.settle()
        visited.append(watched.state())
    times = [report.competitive.start, *(o.step for o in report.offshoots)]
    assert visited == [steps[np.abs(steps - time).argmin()] for time in times]


def test_clicking_a_curve_goes_there(open_page, path: Path) -> None:
    watched = open_page(path)
    over = watched.page.locator(".u-over").first
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    watched.page.mouse.click(box["x"] + 0.75 * box["width"], box["y"] + 40)
    watched.settle()
    assert watched.state() == 750


def test_tables_hold_the_stored_numbers(open_page, path: Path, stored: xr.Dataset) -> None:
    watched = open_page(path)
    page = watched.page
    rows = table(fetch(page, "Download the data of KL divergence as CSV"))
    assert [float(row["step"]) for row in rows] == stored["step"].values.tolist()
    for i, label in enumerate(("f(A₁)", "f(A₁:₂)", "f(A₁:₃)")):
        assert np.array_equal(
            np.array([row[label] for row in rows], np.float32), stored["kl"].values[:, i].astype(np.float32)
        )
    rows = table(fetch(page, "Download the data of Excess loss as CSV"))
    excess = stored["excess_loss"].values.astype(np.float32)
    assert np.array_equal(np.array([row["excess loss"] for row in rows], np.float32), excess)
    rows = table(fetch(page, "Download the data of Attention by group as CSV"))
    for head in range(3):
        for group in range(3):
            column = np.array([row[f"head {head + 1}, I({group + 1})"] for row in rows], np.float32)
            assert np.array_equal(column, stored["attention_by_group"].values[:, 0, head, group].astype(np.float32))
    page.evaluate("headwise.goTo(600)")
    rows = table(fetch(page, "Download the data of Attention, all heads as CSV"))
    assert len(rows) == 3 * 20 * 25
    snapshot = stored["attention_map"].sel(snapshot=600, block=1)
    for row in rows[::37]:
        expected = snapshot.sel(head=int(row["head"]), query=int(row["query"]), key=int(row["key"])).item()
        assert np.float32(row["attention"]) == np.float32(expected)
        assert int(row["lag"]) == int(row["query"]) + 1 - int(row["key"])
    rows = table(fetch(page, "Download the data of What each head looks at, over training as CSV"))
    shares = np.array([[row[f"lag_{lag}"] for lag in range(1, 26)] for row in rows], np.float32)
    assert np.array_equal(shares.reshape(101, 3, 25), stored["attention_by_lag"].values[:, 0].astype(np.float32))
    rows = table(fetch(page, "Download the data of Loss as CSV"))
    assert rows[0]["train"] == "", "what was not measured is empty"


def test_every_panel_gives_a_picture_and_a_table(open_page, path: Path) -> None:
    watched = open_page(path)
    watched.page.evaluate("headwise.goTo(600)")
    watched.settle()
    panels = watched.page.locator(".panel").count()
    buttons = watched.page.locator("button[aria-label$='as PNG']")
    assert buttons.count() == watched.page.locator("button[aria-label$='as CSV']").count() == panels == 11
    for i in range(buttons.count()):
        watched.page.wait_for_timeout(PAUSE)
        with watched.page.expect_download() as download:
            buttons.nth(i).click()
        assert download.value.suggested_filename.endswith(".png")
        picture = imread(download.value.path(), format="png")
        assert picture.shape[1] >= 1200, "large enough to print"
        colours = np.unique((picture[..., :3] * 255).round() @ [65536, 256, 1])
        assert len(colours) > 20, f"picture {i} is empty"
    for button in watched.page.locator("button[aria-label$='as CSV']").all():
        watched.page.wait_for_timeout(PAUSE)
        with watched.page.expect_download() as download:
            button.click()
        assert len(table(download.value)) > 10
    assert watched.complaints == []


def test_hiding_a_head_and_a_group(open_page, path: Path) -> None:
    watched = open_page(path)
    chip = watched.page.get_by_role("button", name="head 2", exact=True).first
    chip.click()
    watched.settle()
    assert chip.get_attribute("aria-pressed") == "false"
    assert watched.page.locator(".singles figure:visible").count() == 2
    assert watched.page.locator(".strips .strip:visible").count() == 2
    with watched.page.expect_download() as download:
        watched.page.get_by_label("Download Attention by group as PNG").click()
    picture = imread(download.value.path(), format="png")[..., :3]
    orange = np.abs(picture - np.array([0xE6, 0x9F, 0x00]) / 255).max(-1) < 0.02
    assert orange.sum() == 0, "head 2's colour must be gone"


def test_logarithmic_time(open_page, path: Path) -> None:
    watched = open_page(path)
    watched.page.get_by_label("log", exact=True).check(force=True)
    watched.settle()
    box = watched.page.locator("#slider").bounding_box()
    watched.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    watched.settle()
    # asinh(t / 10) is half of asinh(1000 / 10) at about 70 steps.
    assert watched.state() == 70
    assert watched.complaints == []


def test_play_runs_to_the_end(open_page, path: Path) -> None:
    watched = open_page(path)
    watched.page.evaluate("headwise.goTo(900)")
    watched.page.get_by_role("button", name="Play").click()
    watched.until("headwise.time() === 1000")
    watched.page.get_by_role("button", name="Play").wait_for()


def test_a_link_comes_back_to_the_same_place(open_page, path: Path) -> None:
    watched = open_page(path)
    watched.page.get_by_label("log", exact=True).check(force=True)
    watched.page.evaluate("headwise.goTo(420)")
    watched.until("location.hash.includes('t=420')")
    watched.page.reload()
    watched.until_ready()
    assert watched.state() == 420
    assert watched.page.get_by_label("log", exact=True).is_checked()


def test_provenance_is_on_the_page(open_page, path: Path) -> None:
    watched = open_page(path)
    text = watched.page.locator(".provenance").inner_text()
    assert "headwise train minimal --preset published --steps 1000 --seed 0" in text
    for summary in watched.page.locator("summary").all():
        if not summary.evaluate("element => element.parentElement.open"):
            summary.click()
    text = watched.page.locator(".provenance").inner_text()
    manifest = read_member(RUN).manifest
    assert manifest["commit"] in text
    assert manifest["versions"]["torch"] in text
    assert "model.init_scale" in text
    assert "1e-09" in text
