"""Attention on an example of a watched model: stored numbers, choosers, keys, and labels that are only ever text."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from test_browser_hostile_text import PAYLOADS
from watched_runs import watched_member, watched_trajectory

from headwise.view.report import Member, write_runs_page

PANEL = ".panel:has(.example)"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("examples") / "page.html"
    write_runs_page(file, [watched_member()])
    return file


def table(page) -> list[list[str]]:
    with page.expect_download() as download:
        page.get_by_label("Download the data of Attention on an example, now as CSV").click()
    return list(csv.reader(io.StringIO(Path(download.value.path()).read_text(encoding="utf-8"), newline="")))


def choose(watched, label: str, value: str) -> None:
    watched.page.get_by_label(f"{label} of Attention on an example, now").select_option(value)
    watched.settle()


def test_the_numbers_are_those_of_the_nearest_kept_look(open_page, path: Path) -> None:
    watched = open_page(path)
    page = watched.page
    stored = watched_trajectory()
    kept = stored["snapshot"].values
    for time, example, block in ((0, 0, 0), (512, 1, 1), (1000, 1, 0)):
        page.evaluate(f"headwise.goTo({time})")
        page.get_by_role("button", name=f"Show block {block + 1} in detail").click()
        choose(watched, "Example", str(example))
        rows = table(page)
        assert rows[0] == ["step", "sequence", "block", "head", "query", "query token", "key", "key token", "attention"]
        nearest = int(np.abs(kept - watched.state()).argmin())
        length = 20 if example == 0 else 14
        assert {float(row[0]) for row in rows[1:]} == {kept[nearest]}
        values = np.array([float(row[-1]) for row in rows[1:]], np.float32).reshape(4, length, length)
        expected = stored["example_attention"].values[nearest, example, block, :, :length, :length]
        assert np.array_equal(values, expected)
        assert rows[-1][5] == f"·{'w' if example == 0 else 'v'}{length - 1}"
    assert watched.complaints == []


def test_a_look_is_chosen_and_time_goes_there(open_page, path: Path) -> None:
    watched = open_page(path)
    options = watched.page.get_by_label("Look of Attention on an example, now").locator("option").all_inner_texts()
    assert options[0] == "step 0"
    assert len(options) == 12
    choose(watched, "Look", "0")
    assert watched.state() == 0
    assert "step 0" in watched.page.locator(f"{PANEL} .stamp").inner_text()
    watched.page.evaluate("headwise.goTo(1000)")
    watched.settle()
    assert watched.page.get_by_label("Look of Attention on an example, now").input_value() == "11"


def test_it_opens_with_the_head_that_does_something_and_others_can_be_chosen(open_page, path: Path) -> None:
    watched = open_page(path)
    page = watched.page
    stamp = page.locator(f"{PANEL} .stamp")
    assert stamp.inner_text().startswith("L0H0 on sequence 1 of the batch")
    page.locator(f"{PANEL} .thumb").nth(2).click()
    watched.settle()
    assert stamp.inner_text().startswith("L0H2 ")
    assert page.get_by_label("Head of Attention on an example, now").input_value() == "2"
    choose(watched, "Head", "-1")
    assert stamp.inner_text().startswith("all heads of L0 ")


def test_the_first_row_is_one_that_shows_what_the_head_does(open_page, path: Path) -> None:
    """In the later half, the row with the largest share once the head has learned; the same at every moment."""
    watched = open_page(path)
    page = watched.page
    readout = page.locator(f"{PANEL} .readout")
    last = watched_trajectory()["example_attention"].values[-1, 0, 0, 0][:20, :20]
    row = 10 + int(last[10:].max(axis=1).argmax())
    for time in (1000, 0):
        page.evaluate(f"headwise.goTo({time})")
        watched.settle()
        assert readout.inner_text().startswith(f"From token {row + 1}, ")


def test_words_and_keys_read_a_row(open_page, path: Path) -> None:
    """At the end head 1 looks at the token itself: what is read is the stored number of that cell."""
    watched = open_page(path)
    page = watched.page
    page.evaluate("headwise.goTo(1000)")
    watched.settle()
    stored = watched_trajectory()["example_attention"].values[-1, 0, 0, 0]
    page.locator(f"{PANEL} .ribbon span").nth(7).click()
    readout = page.locator(f"{PANEL} .readout")
    share = f"{stored[7, 7]:.3f}"
    assert readout.inner_text().startswith(f"From token 8, “·w7”, L0H0: most on token 8, “·w7”: {share}.")
    canvas = page.locator(f"{PANEL} .example-map canvas")
    canvas.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert f"token 19, “·w18”, gets {stored[19, 18]:.3f}" in readout.inner_text()
    page.keyboard.press("Escape")
    assert "most on" in readout.inner_text()


def test_there_is_no_panel_where_nothing_was_kept(open_page, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    write_runs_page(file, [watched_member(tokens=[])])
    watched = open_page(file)
    assert watched.page.locator(PANEL).count() == 0
    assert watched.complaints == []


HOSTILE = (*PAYLOADS, "", " ", "\n", "\u202eabc", "\ud800", "x" * 5000, "模型", "😀", "\x1b[31m")


def test_labels_are_text_and_nothing_else(open_page, tmp_path: Path) -> None:
    for start in range(0, len(HOSTILE), 13):
        labels = HOSTILE[start : start + 13]
        file = tmp_path / f"page{start}.html"
        write_runs_page(file, [Member(watched_trajectory(tokens=[labels]), "hostile")])
        watched = open_page(file)
        page = watched.page
        for token in page.locator(f"{PANEL} .ribbon span").all()[:4]:
            token.click()
        shown = page.locator(f"{PANEL} .ribbon span").all_inner_texts()
        assert len(shown) == len(labels)
        for text, label in zip(shown, labels, strict=True):
            if label.isascii() and label.isprintable() and label:
                assert text == label.replace(" ", "·")[:40]
            assert text.strip(), "every token can be seen"
        assert page.evaluate("document.documentElement.scrollWidth") <= 1440
        table(page)
        assert page.evaluate("window.hacked") is None
        assert watched.complaints == []
        assert {url.split("#")[0] for url in watched.requests if not url.startswith("blob:")} == {file.as_uri()}


def test_labels_that_do_not_fit_the_maps(open_page, tmp_path: Path) -> None:
    """A file that somebody else wrote: too few labels, too many, none, no list."""
    for number, about in enumerate(('[{"tokens": ["a"]}]', '[{"ids": [1, 2, 3], "tokens": 7}, []]', "[]", "no list")):
        trajectory = watched_trajectory().assign_attrs(examples=about)
        file = tmp_path / f"page{number}.html"
        write_runs_page(file, [Member(trajectory, "odd")])
        watched = open_page(file)
        assert watched.page.locator(f"{PANEL} .ribbon span").count() == (1, 3, 20, 20)[number]
        assert watched.complaints == []
