"""Keyboard alone, screen reader labels, contrast in light and dark, phone width."""

from __future__ import annotations

from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from synthetic_runs import member

from headwise.view.report import (
    ShownStatement,
    ShownVerdict,
    Sketch,
    SketchCurve,
    read_member,
    write_reproduction_page,
    write_runs_page,
)

RUN = Path(__file__).parent / "data" / "minimal" / "0ea5daec-s0"
SAYS = "the model passes the predictor of the first group, then that of the first two, and ends at the whole law"
DIPS = tuple(SketchCurve(f"f(A₁:{k})", "group", k, (3.0, 1.0 / k, 0.5 * k)) for k in (1, 2, 3))
ORDER = {
    "claim": "order",
    "says": SAYS,
    "in the paper": "Fig. kl, left",
    "preset": "published",
    "verdict": "reproduced",
    "outcome": "reproduced",
    "passed": 2,
    "of": 2,
    "quantity": "smallest rise after a minimum",
    "measured": 0.2951,
    "unit": "nats",
    "interval": [0.257, 0.297],
    "by_seed": {"0": 0.257, "1": 0.297},
    "threshold": "minima in order, both rises >= 0.1 nats",
    "limit": {"relation": ">=", "value": 0.1},
    "published": 0.385,
    "seeds": [0, 1],
}
VERDICTS = [
    ShownVerdict(ORDER, "good", sketch=Sketch("KL from", "step", (0.0, 500.0, 1000.0), DIPS, unit="nats")),
    ShownVerdict({"claim": "hierarchy", "outcome": "not reproduced", "interval": [1.0, 2.0]}, "bad"),
    ShownVerdict({"claim": "online", "outcome": "inconclusive", "measured": None, "published": 0.525}, "mixed"),
]
STATEMENTS = [
    ShownStatement(
        {
            "name": "kernel",
            "label": "Lemma kernel",
            "printed": {"verdict": "fails", "error": 0.3},
            "corrected": {"verdict": "holds", "error": 1e-12},
        },
        printed="bad",
        corrected="good",
    )
]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    files = {name: folder / f"{name}.html" for name in ("run", "seeds", "comparison", "reproduction")}
    write_runs_page(files["run"], [read_member(RUN)])
    write_runs_page(files["seeds"], [member(seed) for seed in range(3)])
    write_runs_page(files["comparison"], [member(0), member(0, {"task": {"m": 1.3}}, blocks=2)])
    write_reproduction_page(files["reproduction"], VERDICTS, statements=STATEMENTS, command="headwise reproduce")
    return files


@pytest.mark.parametrize("width", [360, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["run", "seeds", "comparison", "reproduction"])
def test_axe_finds_nothing(open_page, pages: dict[str, Path], name: str, scheme: str, width: int) -> None:
    watched = open_page(pages[name], width=width, scheme=scheme)
    for summary in watched.page.locator("summary").all():
        summary.evaluate("element => { element.parentElement.open = true }")
    for button in watched.page.locator("button.open").all():
        button.click()
    results = Axe().run(watched.page)
    told = [(v["id"], [node["html"][:200] for node in v["nodes"][:3]]) for v in results.response["violations"]]
    assert told == []
    assert len(results.response["passes"]) > 15, "axe must have looked"


@pytest.mark.parametrize("name", ["run", "seeds", "comparison", "reproduction"])
def test_a_phone_needs_no_sideways_scrolling(open_page, pages: dict[str, Path], name: str) -> None:
    watched = open_page(pages[name], width=360, height=740)
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("width", [360, 1440])
def test_a_row_says_everything_without_being_opened(open_page, pages: dict[str, Path], width: int) -> None:
    page = open_page(pages["reproduction"], width=width).page
    row = page.locator("[data-table=claims] tr.row").first
    told = " ".join(row.inner_text().split())
    for words in (
        SAYS,
        "Fig. kl, left",
        "published",
        "✓ reproduced 2 of 2 seeds",
        "0.295 (0.257 to 0.297) nats smallest rise after a minimum",
        "asked for: minima in order, both rises ≥ 0.1 nats",
        "printed in the paper: 0.385",
        "KL from: f(A₁:1) f(A₁:2) f(A₁:3)",
    ):
        assert words in told
    for picture in row.locator("svg[role=img]").all():
        box = picture.bounding_box()
        assert box is not None
        assert box["width"] > 200
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert row.locator("svg.gauge").get_attribute("aria-label") == (
        "measured 0.295 (0.257 to 0.297), asked for ≥ 0.1, printed 0.385"
    )
    outside = page.evaluate(
        """width => [...document.querySelectorAll('.verdicts *')].filter(element => element.checkVisibility()
            && element.getBoundingClientRect().right > width + 1).map(element => element.outerHTML.slice(0, 100))""",
        width,
    )
    assert outside == []


def test_everything_that_can_be_used_can_be_reached_by_tab(open_page, pages: dict[str, Path]) -> None:
    for name in ("run", "comparison", "reproduction"):
        page = open_page(pages[name]).page
        usable = page.evaluate(
            """() => { window.reached = new Set();
                document.addEventListener('focusin', event => reached.add(event.target));
                const kinds = 'button, select, input, summary, a[href], [tabindex="0"]';
                window.usable = [...document.querySelectorAll(kinds)]
                    .filter(element => element.checkVisibility() && !(element.type === 'radio' && !element.checked));
                document.body.focus(); return usable.length; }"""
        )
        for _ in range(usable + 5):
            page.keyboard.press("Tab")
        missed = page.evaluate(
            "usable.filter(element => !reached.has(element)).map(element => element.outerHTML.slice(0, 120))"
        )
        assert missed == [], name


def test_the_keyboard_moves_time(open_page, pages: dict[str, Path]) -> None:
    watched = open_page(pages["run"])
    page = watched.page
    page.locator("#slider").focus()
    visited = []
    for key in ("End", "Home", "ArrowRight", "ArrowRight", "ArrowLeft", "PageUp", "PageDown", "n", "n", "p"):
        page.keyboard.press(key)
        watched.settle()
        visited.append(watched.state())
    assert visited == [1000, 0, 10, 20, 10, 110, 10, 40, 330, 40]
    assert page.locator("#slider").get_attribute("aria-valuetext") == "step 40 of 1000, competitive phase"
    page.keyboard.press("Space")
    watched.until("headwise.time() > 60")
    page.keyboard.press("Space")
    page.get_by_role("button", name="Play").wait_for()


def test_the_keyboard_does_all_the_rest(open_page, pages: dict[str, Path]) -> None:
    watched = open_page(pages["run"])
    page = watched.page
    page.locator(".mark").nth(1).focus()
    page.keyboard.press("Enter")
    watched.settle()
    assert watched.state() == 500
    page.locator("input[name=scale]:checked").focus()
    page.keyboard.press("ArrowRight")
    assert page.get_by_label("log", exact=True).is_checked()
    page.locator(".chip").first.focus()
    page.keyboard.press("Space")
    watched.settle()
    assert page.locator(".singles figure:visible").count() == 2
    key = page.locator(".legend button").first
    key.focus()
    page.keyboard.press("Enter")
    watched.settle()
    assert page.locator(".legend button").first.get_attribute("aria-pressed") == "false"
    assert page.evaluate("document.activeElement === document.querySelector('.legend button')"), "focus must stay"
    page.get_by_label("Download Excess loss as PNG").focus()
    with page.expect_download():
        page.keyboard.press("Enter")
    canvas = page.locator("canvas[tabindex]").first
    canvas.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert "query 24, key 25" in page.locator(".stamp ~ .readout").inner_text()
    page.locator("summary").last.focus()
    page.keyboard.press("Enter")
    assert page.locator("details").last.evaluate("element => element.open")
    assert watched.complaints == []


def test_reduced_motion_shows_separate_pictures(open_page, pages: dict[str, Path]) -> None:
    watched = open_page(pages["run"], motion="reduce")
    page = watched.page
    page.evaluate("headwise.goTo(0)")
    watched.settle()
    page.evaluate(
        "window.seen = new Set(); (function look() { seen.add(headwise.time()); requestAnimationFrame(look); })()"
    )
    page.get_by_role("button", name="Play").click()
    page.wait_for_timeout(2000)
    assert 2 <= page.evaluate("seen.size") <= 5, "a picture every 0.6 seconds"


def test_canvases_say_what_they_show(open_page, pages: dict[str, Path]) -> None:
    watched = open_page(pages["run"])
    watched.page.evaluate("headwise.goTo(1000)")
    watched.settle()
    labels = watched.page.locator("canvas[role=img], .uplot[role=img]").evaluate_all(
        "all => all.map(one => one.ariaLabel)"
    )
    assert all(labels)
    assert any("head 3" in label and "most on lag" in label for label in labels)
