"""Statements are sorted into true, false and unscored on made-up reports whose answer is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binomtest

from headwise.core.errors import ConfigError
from headwise.core.markdown import with_section, without_section
from headwise.zoo.__main__ import ADDITIONS, FIRST, PARTS, main
from headwise.zoo.matching import match
from headwise.zoo.page import render
from headwise.zoo.reported import Statement, anything, statements
from headwise.zoo.score import RunScore, score_zoo, summary
from headwise.zoo.truth.event import WHATS, Event
from headwise.zoo.wilson import share

REPORT: dict[str, Any] = {
    "stages": {
        "loss": [
            {"start": 0, "end": 40, "label": "a", "score": 1},
            {"start": 40, "end": 100, "label": "b", "score": 1, "interval": [35, 50]},
        ],
        "heads": [],
        "function": [],
    },
    "competitive": {"start": 10, "end": 30},
    "offshoots": [{"step": 33, "head": 2, "from": "1", "to": "3", "interval": [30, 40]}],
    "adds": [{"step": 60, "head": 1, "from": "1", "to": "lag 4", "block": 2}],
    "transitions": [],
    "patterns": [{"pattern": "3", "lags": [5, 6]}],
    "roles": [
        {"block": 1, "head": 2, "role": "lag 5", "start": 33, "end": 100, "interval": [30, 40]},
        {"block": 1, "head": 1, "role": "previous", "start": 8, "end": 100, "interval": [5, 9]},
        {"block": 1, "head": 1, "role": "lag 2", "start": 8, "end": 100, "interval": [5, 9]},
        {"block": 2, "head": 1, "role": "induction", "start": 50, "end": 100, "interval": [45, 55]},
        {"block": 2, "head": 1, "role": "diffuse", "start": 0, "end": 40, "interval": [0, 0]},
    ],
}


def test_what_a_report_says() -> None:
    said = statements(REPORT)
    assert said == [
        Statement("lag", 30, 40, 1, 2, frozenset([5])),
        Statement("lag", 5, 9, 1, 1, frozenset([2])),
        Statement("induction", 45, 55, 2, 1),
        Statement("leaving", 30, 40, 1, 2, frozenset([5, 6])),
        Statement("adding", 60, 60, 2, 1, frozenset([4])),
        Statement("competition", 10, 30),
        Statement("boundary", 35, 50),
    ]
    assert anything(REPORT) == ["offshoots", "adds", "competition", "stages"]


def test_an_empty_report_says_nothing() -> None:
    quiet = {"stages": {"loss": [], "heads": [{"start": 0, "end": 9}]}, "competitive": {"start": None, "end": None}}
    assert statements(quiet) == []
    assert anything(quiet) == []


def _event(value: str, start: float, end: float, *, head: int = 1, lag: int = 3) -> Event:
    return Event("lag", "clear" if value == "clear" else "borderline", start, end, 1, head, lag)


def _said(start: float, end: float, *, head: int = 1, lags: tuple[int, ...] = (3,)) -> Statement:
    return Statement("lag", start, end, 1, head, frozenset(lags))


def test_a_hit_is_an_overlap_with_the_same_head_and_lag() -> None:
    event = _event("clear", 10, 20)
    assert match([_said(20, 30)], [event]).hits
    for wrong in (_said(21, 30), _said(10, 20, head=2), _said(10, 20, lags=(4,))):
        matched = match([wrong], [event])
        assert (len(matched.false), len(matched.missed)) == (1, 1)


def test_borderline_events_are_neither_hits_nor_misses() -> None:
    matched = match([_said(10, 20)], [_event("borderline", 15, 25)])
    assert (len(matched.hits), len(matched.false), len(matched.missed), len(matched.unscored)) == (0, 0, 0, 1)
    assert match([], [_event("borderline", 15, 25)]).missed == []


def test_one_event_supports_one_statement_and_a_statement_of_two_lags_two_events() -> None:
    event = _event("clear", 10, 20)
    assert len(match([_said(10, 12), _said(15, 18)], [event]).false) == 1
    both = match([_said(10, 20, lags=(3, 4))], [event, _event("clear", 10, 20, lag=4)])
    assert (len(both.hits), len(both.found)) == (1, 2)


@pytest.mark.parametrize(("part", "whole"), [(0, 7), (7, 7), (93, 100), (1, 3)])
def test_intervals_are_those_of_scipy(part: int, whole: int) -> None:
    expected = binomtest(part, whole).proportion_ci(method="wilson")
    found = share(part, whole)
    assert (found["low"], found["high"]) == pytest.approx((expected.low, expected.high), abs=1e-6)


def _run(kind: str, said: list[str], **lag: int) -> RunScore:
    names = ("hits", "unscored", "false", "found", "missed", "borderline", "borderline_found")
    counts = {what: dict.fromkeys(names, 0) for what in WHATS}
    counts["lag"].update(lag)
    return RunScore("run", kind, counts, said, [])


def test_sums_over_runs() -> None:
    scores = [
        _run("one_lag", ["stages"], hits=3, found=3, missed=1, borderline=4, borderline_found=1, unscored=1),
        _run("one_lag", [], hits=1, found=1, false=1),
        _run("drift", []),
        _run("drift", ["offshoots"]),
    ]
    found = summary(scores, part="development")
    lag = found["events"]["lag"]
    assert (lag["clear"], lag["borderline_share"]) == (5, pytest.approx(4 / 9))
    assert lag["precision"]["value"] == pytest.approx(4 / 5)
    assert lag["recall"]["value"] == pytest.approx(4 / 5)
    assert lag["yes_no_precision"]["value"] == pytest.approx(5 / 6)
    assert lag["yes_no_recall"]["value"] == pytest.approx(5 / 9)
    assert found["nothing"]["all"]["silent"]["value"] == 0.5
    assert found["nothing"]["drift"]["said"] == {"offshoots": 1}
    assert found["one_lag"]["right"]["value"] == 0
    page = render([found])
    assert "| a head acquires a lag | 5 | 44% |" in page
    assert json.loads(json.dumps(found)) == found


def test_the_page_says_which_scores_moved_since_the_first_look() -> None:
    first = summary([_run("one_lag", [], hits=1, found=1)], part="held-out")
    now = summary([_run("one_lag", [], hits=1, found=1, false=1)], part="held-out")
    page = " ".join(render([now], first=first).split())
    assert "a head acquires a lag: precision 100.0%, now 50.0%." in page
    assert "recall 100.0%" not in page
    assert "No precision and no recall moved." in render([now], first=now)


def test_the_page_has_the_function_view_of_every_part_that_was_scored() -> None:
    score = summary([_run("one_lag", [])], part="development")
    assert "function view" not in render([score])
    one = {"runs": 5, "clear": 10, "hits": 9, "false": 1, "unscored": 2, "missed": 1}
    functions = {"markov_1": {**one, "precision": share(9, 10), "recall": share(9, 10), "wrong": ["markov_1-0003"]}}
    page = render([{**score, "functions": functions}])
    assert "| development | markov_1 | 5 | 10 | 9 | 2 | 1 | 90.0% (" in page


def test_the_page_says_how_near_an_addition_is() -> None:
    score = summary([_run("one_lag", [])], part="development")
    near = {"run": "a", "held": 0.28, "taken": 0.34, "lost": 0.0, "clear_rise": True}
    found = {"part": "development", "exchanges": 9, "clearly_held": 5, "least_lost": 0.44}
    page = " ".join(render([score], additions={**found, "kept_but_not_clearly_held": [near]}).split())
    assert "lost at least 44% of it" in page
    assert "(1 of 9 exchanges)" in page
    assert "at most 0.28 when the second began" in page


def test_a_section_is_replaced_and_the_rest_of_a_page_stays() -> None:
    page = with_section("# top\n\ntext\n", "zoo", "first\n")
    again = with_section(page, "zoo", "second\n")
    assert without_section(again, "zoo")[0] == "# top\n\ntext\n"
    assert "first" not in again
    assert again.endswith("second\n")
    assert without_section("# top\n", "zoo") == ("# top\n", "")


def test_the_held_out_part_is_scored_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "held-out.json").write_text("{}")
    assert main(["score", "--part", "held-out", "--out", str(tmp_path), "--scores", str(tmp_path)]) == 2
    assert "scored once" in capsys.readouterr().err


def test_the_page_is_made_from_the_stored_scores() -> None:
    root = Path(__file__).parents[2]
    _, section = without_section((root / "docs" / "detection.md").read_text(encoding="utf-8"), "zoo")
    files = [root / "results" / "zoo" / f"{part}.json" for part in PARTS]
    scores = [json.loads(path.read_text(encoding="utf-8")) for path in files if path.is_file()]
    others = {name: root / "results" / "zoo" / file for name, file in (("first", FIRST), ("additions", ADDITIONS))}
    known = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in others.items() if path.is_file()}
    expected = with_section("", "zoo", render(scores, **known)) if scores else ""
    assert section == expected, "run python -m headwise.zoo page"


def test_a_folder_without_runs_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="train them first"):
        score_zoo(tmp_path, part="development")
    assert main(["page", str(tmp_path / "page.md"), "--scores", str(tmp_path)]) == 2
