"""Pages of runs that lack something or have more than usual; seeds; comparisons; a run that goes on; verdicts."""

from __future__ import annotations

import csv
import io
import time
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser
from synthetic_runs import member, trajectory, without

from headwise.core.palette import HEADS
from headwise.flow.config import FlowConfig
from headwise.flow.simulate import simulate
from headwise.phases.detection import detect
from headwise.view.report import (
    Live,
    Member,
    ShownStatement,
    ShownVerdict,
    write_reproduction_page,
    write_runs_page,
)

SHAPES = {
    "one evaluation": lambda: member(evaluations=1, snapshots=1),
    "two evaluations": lambda: member(evaluations=2, snapshots=2),
    "one head": lambda: member(heads=1),
    "twelve heads": lambda: member(heads=12),
    "four blocks": lambda: member(blocks=4, heads=4),
    "unknown groups": lambda: without(
        member(groups=None), "attention_by_group", "value_alignment", "value_cosine", "value_coefficient"
    ),
    "no maps": lambda: without(member(), "attention_map"),
    "only maps": lambda: Member(member().trajectory[["attention_map"]], "maps"),
    "only the loss": lambda: Member(member().trajectory[["excess_loss"]], "loss"),
    "no kl, no overlap": lambda: without(member(), "kl", "kl_reverse", "head_overlap", "attention_by_lag"),
    "diverged": lambda: Member(_diverged(), "diverged", seed=0, status="diverged"),
}


def _diverged():
    broken = trajectory()
    for name in ("excess_loss", "loss", "kl"):
        broken[name][60:] = np.nan
    broken["loss"][59] = np.inf
    return broken


@pytest.mark.parametrize("name", SHAPES)
def test_a_sensible_page(open_page, tmp_path: Path, name: str) -> None:
    file = tmp_path / "page.html"
    run = SHAPES[name]()
    write_runs_page(file, [run])
    watched = open_page(file)
    page = watched.page
    times = page.evaluate("headwise.times()")
    assert times, "there is something to show"
    for moment in (times[0], times[len(times) // 2], times[-1]):
        page.evaluate(f"headwise.goTo({moment})")
        watched.settle()
    page.locator("#event-next").click()
    page.get_by_label("log", exact=True).check(force=True)
    watched.settle()
    text = page.locator("body").inner_text()
    assert "NaN" not in text
    assert "undefined" not in text
    assert "null" not in page.locator("#panels").inner_text()
    assert watched.complaints == []
    titles = page.locator(".panel h3").all_inner_texts()
    assert ("Attention, all heads" in titles) == ("attention_map" in run.trajectory)
    assert ("KL divergence" in titles) == ("kl" in run.trajectory)
    assert ("Excess loss" in titles) == ("excess_loss" in run.trajectory)
    heads = run.trajectory.sizes.get("head", 0)
    if "attention_map" in run.trajectory:
        assert page.locator(".singles figure").count() == heads
    if run.trajectory.sizes.get("block", 1) > 1:
        page.locator("#choices label", has_text="Block").locator("select").select_option(index=2)
        watched.settle()
        shown = np.array(page.evaluate("headwise.attention()")["values"], np.float32)
        last = run.trajectory["attention_map"].values[-1, 2].reshape(heads, -1)
        page.evaluate(f"headwise.goTo({times[-1]})")
        shown = np.array(page.evaluate("headwise.attention()")["values"], np.float32)
        assert np.array_equal(shown, last)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440


def test_seeds_are_matched(open_page, tmp_path: Path) -> None:
    runs = [member(seed) for seed in range(4)]
    # Seed 2 gives the same roles to other heads.
    shuffled = runs[2].trajectory.isel(head=[2, 0, 1], head2=[2, 0, 1]).assign_coords(head=[1, 2, 3], head2=[1, 2, 3])
    runs[2] = Member(shuffled, "s2", seed=2, config=runs[2].config, manifest=runs[2].manifest)
    file = tmp_path / "seeds.html"
    write_runs_page(file, runs)
    watched = open_page(file)
    page = watched.page
    page.evaluate("headwise.goTo(700)")
    watched.settle()
    original = [member(seed).trajectory for seed in range(4)]
    at = original[0]["step"].values.tolist().index(700)
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Attention by group"))
    shown = [float(text) for text in panel.locator("tbody .value").all_inner_texts()]
    expected = original[0]["attention_by_group"].values[at, 0].reshape(-1)
    assert np.allclose(shown, expected, atol=6e-4), "heads are those of the chosen seed"
    levels = page.locator(".panel", has=page.get_by_role("heading", name="KL divergence")).locator(".value")
    middle = np.median([t["kl"].values[at] for t in original], axis=0)
    assert np.allclose([float(text) for text in levels.all_inner_texts()], middle, atol=6e-3), "all else is a median"
    with page.expect_download() as download:
        page.get_by_label("Download the data of Excess loss as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    for seed in range(4):
        column = np.array([row["excess loss"] for row in rows if row["seed"] == str(seed)], np.float32)
        assert np.array_equal(column, original[seed]["excess_loss"].values.astype(np.float32))
    page.get_by_label("Heads of").select_option(label="seed 2")
    watched.settle()
    shown = [float(text) for text in panel.locator("tbody .value").all_inner_texts()]
    expected = original[2]["attention_by_group"].values[at, 0].reshape(-1)
    assert np.allclose(shown, expected, atol=6e-4), "seed 2's heads must be back in their roles"
    page.wait_for_timeout(100)
    shown = np.array(page.evaluate("headwise.attention()")["values"], np.float32)
    assert np.array_equal(shown, original[2]["attention_map"].sel(snapshot=700).values[0].reshape(3, -1))
    marked = page.locator(".timeline .mark .swatch").all_inner_texts()
    assert marked == [str(o.head) for o in detect(original[2]).offshoots], "marks have the number of the role"
    copied = page.locator(".singles figcaption").all_inner_texts()
    assert [text.split()[-1] for text in copied] == ["I(1)", "I(2)", "I(3)"]
    assert watched.complaints == []


def test_curves_of_heads_that_do_the_same_show_all_of_them(open_page, tmp_path: Path) -> None:
    """Between steps 120 and 280 the three heads have the same attention; each colour must be there to see."""
    file = tmp_path / "run.html"
    write_runs_page(file, [member()])
    page = open_page(file).page
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Attention by group"))
    panel.scroll_into_view_if_needed()
    seen = panel.locator("canvas").evaluate(
        """(canvas, colours) => {
            const { width, height } = canvas, from = Math.round(0.12 * width) + 40, to = Math.round(0.28 * width);
            const { data } = canvas.getContext("2d").getImageData(from, 0, to - from, height);
            return colours.map(colour => {
                const own = [1, 3, 5].map(i => parseInt(colour.slice(i, i + 2), 16));
                let count = 0;
                for (let i = 0; i < data.length; i += 4)
                    if (data[i + 3] > 200 && own.every((part, k) => Math.abs(data[i + k] - part) < 40)) count += 1;
                return count; }); }""",
        list(HEADS[:3]),
    )
    assert min(seen) > 20


@pytest.mark.parametrize("kind", ["run", "reproduction"])
def test_data_of_another_schema_is_refused_in_one_line(browser: Browser, tmp_path: Path, kind: str) -> None:
    file = tmp_path / "page.html"
    if kind == "run":
        write_runs_page(file, [member()])
    else:
        write_reproduction_page(file, [ShownVerdict({"claim": "order", "outcome": "holds"}, "good")])
    text = file.read_text()
    assert text.count('{"schema":2,') == 1
    file.write_text(text.replace('{"schema":2,', '{"schema":3,'))
    page = browser.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    alert = page.get_by_role("alert")
    alert.wait_for()
    assert alert.inner_text() == (
        "This page holds data of schema 3, and its script draws schema 2 alone: write the page again."
    )
    assert errors == []
    assert page.locator(".panel").count() == 0
    page.close()


def test_single_seeds_on_hover_and_on_focus(open_page, tmp_path: Path) -> None:
    file = tmp_path / "seeds.html"
    write_runs_page(file, [member(seed) for seed in range(3)])
    watched = open_page(file)
    page = watched.page
    panel = page.locator(".panel", has=page.get_by_role("heading", name="Attention entropy"))
    count = """panel => { const canvas = panel.querySelector('.uplot canvas');
        const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        return data.reduce((sum, value, i) => sum + value * (i % 4 + 1), 0); }"""
    plain = panel.evaluate(count)
    panel.locator(".legend button").nth(1).focus()
    watched.settle()
    focused = panel.evaluate(count)
    assert focused != plain
    panel.locator(".legend button").nth(1).blur()
    watched.settle()
    assert panel.evaluate(count) == plain
    over = panel.locator(".u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    found = False
    for share in np.linspace(0.05, 0.95, 19):
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + share * box["height"])
        watched.settle()
        found = found or panel.evaluate(count) != plain
    assert found, "somewhere along the plot there is a curve to point at"


def test_two_configs_one_slider(open_page, tmp_path: Path) -> None:
    left, right = member(0), member(0, {"task": {"m": 1.3}}, snapshots=11)
    file = tmp_path / "two.html"
    write_runs_page(file, [left, right])
    watched = open_page(file)
    page = watched.page
    assert page.locator("h1").inner_text() == "minimal · published, m = 1.7 and minimal · published, m = 1.3"
    page.locator("#slider").focus()
    page.keyboard.press("End")
    watched.settle()
    for study, run in enumerate((left, right)):
        shown = np.array(page.evaluate(f"headwise.attention({study})")["values"], np.float32)
        assert np.array_equal(shown, run.trajectory["attention_map"].values[-1, 0].reshape(3, -1))
    assert page.locator(".differs th").all_inner_texts() == ["task.m"]
    assert watched.complaints == []


def test_flow_beside_transformer(open_page, tmp_path: Path) -> None:
    flow = simulate(FlowConfig(), 0)
    file = tmp_path / "both.html"
    write_runs_page(file, [member(0), Member(flow, "flow", seed=0)])
    watched = open_page(file)
    page = watched.page
    names = page.locator(".timeline-name").all_inner_texts()
    assert names[0].startswith("minimal · published")
    assert names[1].startswith("regression flow")
    page.evaluate("headwise.goTo(1000)")
    watched.settle()
    end = float(flow["step"].values[-1])
    assert f"time {end:g}" in page.locator(".timeline-name").nth(1).inner_text(), "both ends coincide"
    align = page.locator("#choices label", has_text="Align").locator("select")
    assert align.input_value() in ("share", "stage")
    align.select_option("share")
    page.evaluate("headwise.goTo(500)")
    watched.settle()
    assert f"time {end / 2:g}" in page.locator(".timeline-name").nth(1).inner_text()
    assert watched.complaints == []


def test_a_live_page_offers_to_reload(open_page, tmp_path: Path) -> None:
    file = tmp_path / "live.html"
    early = member(0, evaluations=31, steps=300, snapshots=7)
    write_runs_page(file, [early], live=Live(0.1))
    watched = open_page(file)
    page = watched.page
    time.sleep(3)
    assert "goes on" in page.locator("#live-text").inner_text(), "nothing new yet"
    write_runs_page(file, [member(0, evaluations=61, steps=600, snapshots=13)], live=Live(0.1))
    page.get_by_text("a newer page is there").wait_for(timeout=15000)
    page.evaluate("headwise.goTo(200)")
    watched.until("location.hash.includes('t=200')")
    page.locator("#live-reload").click()
    watched.until("window.headwise && headwise.ready && headwise.times().at(-1) === 600")
    assert watched.state() == 200, "reloading keeps the place"
    write_runs_page(file, [member(0)])
    page.get_by_text("The run is over").wait_for(timeout=15000)
    page.locator("#live-auto").click()
    watched.until("window.headwise && headwise.ready && headwise.times().at(-1) === 1000")
    assert page.locator("#live").count() == 0
    assert watched.complaints == []
    assert all(url.startswith("file:") for url in watched.requests)


def test_verdict_tables(open_page, tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    figure.add_subplot().plot([0, 1])
    figure.savefig(tmp_path / "order.png")
    half = {"outcome": "partly reproduced", "verdict": "reproduced in 1 of 2 seeds"}
    verdicts = [
        ShownVerdict(
            {"claim": "order", "preset": "published", **half, "measured": 0.25, "interval": [0.2, 0.3]},
            "mixed",
            [tmp_path / "order.png"],
        ),
        ShownVerdict({"claim": "order", "preset": "text", "outcome": "not reproduced", "measured": 10.5}, "bad"),
        ShownVerdict({"claim": "online", **half, "measured": 2.0, "why": "fresh data"}, "mixed"),
        ShownVerdict({"claim": "alpha", "outcome": "inconclusive", "measured": None}, "mixed"),
    ]
    parts = {"printed": {"verdict": "fails", "error": 0.2}, "corrected": {"verdict": "holds", "error": 1e-9}}
    statements = [ShownStatement({"name": "kernel", "label": "Lemma", **parts}, printed="bad", corrected="good")]
    file = tmp_path / "reproduction.html"
    write_reproduction_page(file, verdicts, statements=statements)
    watched = open_page(file)
    page = watched.page
    claims = page.locator("[data-table=claims]")
    names = lambda: [t.strip() for t in claims.locator("tbody:visible .open").all_inner_texts()]  # noqa: E731
    assert names() == ["order", "order", "online", "alpha"]
    head = claims.get_by_role("button", name="measured")
    head.click()
    measured = [t.strip() for t in claims.locator("tbody tr:first-child td.measured").all_inner_texts()]
    assert measured == ["0.25 (0.20 to 0.30)", "2", "10", ""], "numbers sort as numbers, nothing last"
    head.click()
    assert claims.locator("th[aria-sort=descending]").count() == 1
    head.click()
    assert names() == ["order", "order", "online", "alpha"], "a third click restores the order"
    partly = claims.get_by_role("button", name="partly reproduced")
    assert "mixed" in (partly.get_attribute("class") or ""), "a colour is what the row says, not what its words say"
    partly.click()
    assert names() == ["order", "alpha"]
    partly.click()
    claims.get_by_label("Search").fill("fresh")
    assert names() == ["online"]
    assert claims.locator(".showing").inner_text() == "1 of 4 rows"
    claims.get_by_label("Search").fill("")
    claims.locator(".open").first.click()
    assert claims.locator("figure img").first.evaluate("image => image.decode().then(() => image.naturalWidth)") > 50
    assert "0.2, 0.3" in claims.locator(".detail:visible").inner_text()
    with page.expect_download() as download:
        claims.locator("figure a").first.click()
    assert Path(download.value.path()).read_bytes() == (tmp_path / "order.png").read_bytes()
    with page.expect_download() as download:
        claims.get_by_role("button", name="Download claims as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    assert [row["measured"] for row in rows] == ["0.25", "10.5", "2", ""]
    theory = page.locator("[data-table=statements]").inner_text()
    assert "kernel" in theory
    assert "1.0e-9" in theory
    assert watched.complaints == []
