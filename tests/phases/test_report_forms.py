"""The forms of a report: text of 80 columns, one line, HTML, a table; whatever names and numbers of heads it has."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from phase_examples import three_stage_run

from headwise.core.trajectory import assemble
from headwise.phases.detection import detect, detect_seeds
from headwise.phases.report_frame import COLUMNS
from headwise.phases.run_report import RunReport
from headwise.phases.seeds_report import SeedsReport
from headwise.phases.timeline_html import LEFT, WIDTH, timeline_html
from headwise.phases.timeline_text import timeline_text

HOSTILE = "<script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;"
ESCAPE_CODE = "\x1b[31mred\x07\nnew line"


def named(run: xr.Dataset, names: list[str]) -> xr.Dataset:
    return run.assign_coords(predictor=names)


def many_patterns_run(blocks: int = 11, heads: int = 5) -> xr.Dataset:
    """Every head of every block stays on three lags of its own, all of them far apart: as many patterns as heads."""
    count, width = blocks * heads, 12 * blocks * heads
    attention = np.full((20, blocks, heads, width), 0.1 / width)
    for i in range(count):
        for lag in (12 * i, 12 * i + 3, 12 * i + 6):
            attention[:, i // heads, i % heads, lag] += 0.3
    return assemble({"attention_by_lag": attention}, {"step": np.arange(20) * 1e9, "lag": np.arange(1, width + 1)})


def awkward_reports() -> dict[str, RunReport | SeedsReport]:
    run = three_stage_run()
    two = three_stage_run(seed=123456789012, order=(2, 0, 1)).sel(step=slice(0, 600))
    both = xr.concat(
        [run, run], dim="block", data_vars="minimal", coords="minimal", compat="override", join="override"
    ).assign_coords(block=[1, 2])
    both = both[["attention_by_lag", "value_coefficient"]].transpose("step", "block", "head", ...)
    return {
        "plain": detect(run),
        "long names": detect(named(run, ["a" * 300, "b " * 100, "c"])),
        "escape codes": detect(named(run, [ESCAPE_CODE, "b", "c"])),
        "hostile": detect(named(run, [HOSTILE, "b", "c"])),
        "found": detect(run, groups="found"),
        "blocks": detect(both),
        "many heads and patterns": detect(many_patterns_run()),
        "nothing to read": detect(run[[]].assign_coords(step=run["step"])),
        "one evaluation": detect(run.isel(step=[-1])),
        "fractions of a step": detect(run.assign_coords(step=run["step"] * 1.23456789e-7)),
        "many notes": detect(run.isel(step=slice(None, 5), head=[0]).drop_vars(["excess_loss", "kl"])),
        "seeds": detect_seeds([three_stage_run(seed=1), two]),
        "seeds with long names": detect_seeds([named(run, ["a" * 300, "b", "c"]), two.drop_vars("kl")]),
        "one seed": detect_seeds(run),
    }


@pytest.fixture(scope="module", params=awkward_reports().items(), ids=lambda item: item[0])
def report(request: pytest.FixtureRequest) -> RunReport | SeedsReport:
    return request.param[1]  # type: ignore[no-any-return]


def test_text_fits_80_columns(report: RunReport | SeedsReport) -> None:
    text = str(report)
    assert max(len(line) for line in text.splitlines()) <= 80
    assert all(character.isprintable() or character == "\n" for character in text)
    assert all(line == line.rstrip() for line in text.splitlines())


def test_text_leaves_nothing_out(report: RunReport | SeedsReport) -> None:
    """Every sentence is there in full, line breaks apart."""
    shown = "".join(str(report).split())
    shown_run = report if isinstance(report, RunReport) else report.runs[report.reference]
    sentences = shown_run.timeline.sentences
    assert sentences
    for sentence in sentences:
        printable = "".join(c if c.isprintable() else "?" for c in "".join(sentence.split()))
        assert printable in shown


def test_repr_is_one_short_line(report: RunReport | SeedsReport) -> None:
    assert "\n" not in repr(report)
    assert len(repr(report)) < 120
    assert type(report).__name__ in repr(report)


def test_html_is_well_formed_escaped_and_self_contained(report: RunReport | SeedsReport) -> None:
    html = report._repr_html_()
    tree = ElementTree.fromstring(re.sub(r"[\x00-\x08\x0e-\x1f]", "?", html))  # XML has no control characters
    names = {element.tag.rpartition("}")[2] for element in tree.iter()}
    assert names <= {"div", "svg", "rect", "line", "text", "title", "span", "ul", "li"}
    attributes = {name for element in tree.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or name in ("src", "href")}
    assert "url(" not in html
    found: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            found.append(tag)

    Tags().feed(html)
    assert set(found) <= names


def test_hostile_names_are_shown_as_text() -> None:
    run = named(three_stage_run(), [HOSTILE, "b", "c"])
    for one in (detect(run), detect_seeds([run])):
        tree = ElementTree.fromstring(one._repr_html_())
        assert any(HOSTILE in (element.text or "") for element in tree.iter())


def test_html_draws_the_bars_where_they_are() -> None:
    report = detect(three_stage_run())
    tree = ElementTree.fromstring(report._repr_html_())
    svg = "{http://www.w3.org/2000/svg}"
    drawn = {
        (rect.findtext(f"{svg}title"), rect.get("y")): (float(rect.attrib["x"]), float(rect.attrib["width"]))
        for rect in tree.iter(f"{svg}rect")
    }
    bars = [(row.head, bar) for row in report.timeline.rows for bar in row.bars]
    assert len(bars) == 5
    for head, bar in bars:
        x, width = drawn[f"{bar.label}: {bar.start:.4g} to {bar.end:.4g}", f"{(head - 1) * 24:.1f}"]
        assert (x - LEFT) / WIDTH * 1000 == pytest.approx(bar.start, abs=0.1)
        assert (x + width - LEFT) / WIDTH * 1000 == pytest.approx(bar.end, abs=0.2)
    lines = [float(line.attrib["x1"]) for line in tree.iter(f"{svg}line")]
    assert [(x - LEFT) / WIDTH * 1000 for x in lines] == pytest.approx([o.step for o in report.offshoots], abs=0.1)


def test_one_repr_in_full() -> None:
    assert repr(detect(three_stage_run())) == (
        "<RunReport: steps 0 to 1000; stages: function 3, loss 3, heads 3; 2 offshoots; views agree>"
    )


def test_each_character_of_a_row_is_what_the_head_copies_then() -> None:
    report = detect(three_stage_run())
    lines = [line for line in str(report).splitlines() if re.match(r" *head \d  ", line)]
    for row, line in zip(report.timeline.rows, lines, strict=True):
        cells = line.split("  ", maxsplit=3)[-1]
        for i, symbol in enumerate(cells):
            t = (i + 0.5) / len(cells) * 1000
            copied = [str(bar.label) for bar in row.bars if bar.start <= t <= bar.end]
            assert symbol == (copied[0] if copied else "·")


def test_every_pattern_has_a_symbol_of_its_own_while_there_are_letters() -> None:
    report = detect(many_patterns_run(blocks=10, heads=5))
    assert len(report.heads.patterns) == 50
    lines = [line for line in str(report).splitlines() if re.match(r" *head \d+\.\d+  ", line)]
    assert len({line[-1] for line in lines}) == 50


def test_table_of_a_run() -> None:
    report = detect(three_stage_run())
    table = report.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert tuple(table.columns) == COLUMNS
    assert table["step"].is_monotonic_increasing
    counts = table["kind"].value_counts()
    assert dict(counts) == {
        "stage": 9,
        "offshoot": 2,
        "compensation": 2,
        "competitive": 1,
        "cooperative": 1,
        "role": 10,
        "transition": 2,
    }
    left = table[table["kind"] == "offshoot"]
    assert [tuple(row) for row in left[["step", "block", "head", "from", "to"]].to_numpy()] == [
        (o.step, o.block, o.head, o.source, o.target) for o in report.offshoots
    ]
    for name, view in report.views.items():
        rows = table[table["view"] == name]
        assert rows["step"].tolist() == [stage.start for stage in view.stages]
        assert rows["label"].tolist() == [stage.label for stage in view.stages]
    dips = table[table["kind"] == "compensation"]
    assert dips["depth"].tolist() == [item.deepest.depth for item in report.compensation if item.deepest]
    assert table["block"].dtype == "Int64"


def test_table_of_seeds_names_seed_and_role() -> None:
    """Head 2 of the reference leaves first, whichever head that is in the other seed."""
    report = detect_seeds([three_stage_run(seed=4), three_stage_run(seed=9, order=(2, 0, 1))])
    table = report.to_frame()
    assert list(table.columns) == ["seed", "role", *COLUMNS]
    first = table[(table["kind"] == "offshoot") & (table["to"] == 2)]
    assert sorted(zip(first["seed"], first["head"], first["role"], strict=True)) == [(4, 2, 2), (9, 1, 2)]


def test_a_table_without_any_row_has_its_columns(report: RunReport | SeedsReport) -> None:
    table = report.to_frame()
    assert set(COLUMNS) <= set(table.columns)
    assert table["step"].dtype == np.float64


def test_json_of_every_report_has_a_version_and_plain_values(report: RunReport | SeedsReport) -> None:
    plain = report.to_json()
    assert plain["schema"] == 1
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_a_legend_names_the_patterns_that_are_drawn_and_no_others() -> None:
    whole = detect(three_stage_run())
    patterns = whole.timeline.patterns
    first, last = patterns[0].label, patterns[-1].label
    assert {first, last} <= whole.timeline.drawn
    rows = tuple(replace(row, bars=tuple(bar for bar in row.bars if bar.label == first)) for row in whole.timeline.rows)
    fewer = replace(whole.timeline, rows=rows, stages={}, sentences=())
    assert f"{first} = " in timeline_text(fewer)
    assert f"{last} = " not in timeline_text(fewer)
    assert f"> {last}: " in timeline_html(whole.timeline)
    assert f"> {last}: " not in timeline_html(fewer)
