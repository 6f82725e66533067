"""Verdicts over seeds: words, medians, intervals, and what is not allowed to pass."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from headwise.core.errors import HeadwiseError
from headwise.paper.levels import Level
from headwise.paper.limit import Limit
from headwise.paper.manifest import ENTRIES
from headwise.paper.verdict import Judgement, Verdict, decide, interval
from headwise.paper.verdict_file import add_verdicts, read_verdicts, to_item
from headwise.paper.verdicts import Verdicts


def verdict(*judgements: Judgement, preset: str = "published") -> Verdict:
    return decide(
        dict(enumerate(judgements)),
        claim="c",
        preset=preset,
        scale="quick",
        quantity="q",
        threshold="t",
        limit=Limit(">", 0.5),
        published=2.0,
    )


YES, NO, UNREAD = Judgement(True, 1.0), Judgement(False, 0.0), Judgement(None, None, "missing")


@pytest.mark.parametrize(
    ("judgements", "word", "outcome", "passed"),
    [
        ((YES, YES), "reproduced", "reproduced", 2),
        ((YES, NO), "reproduced in 1 of 2 seeds", "partly reproduced", 1),
        ((NO, NO), "not reproduced", "not reproduced", 0),
        ((UNREAD, UNREAD), "inconclusive", "inconclusive", 0),
        ((YES, UNREAD), "reproduced in 1 of 2 seeds", "partly reproduced", 1),
        ((NO, UNREAD), "inconclusive", "inconclusive", 0),
    ],
)
def test_words(judgements: tuple[Judgement, ...], word: str, outcome: str, passed: int) -> None:
    found = verdict(*judgements)
    assert (found.text, found.outcome, found.passed, found.of) == (word, outcome, passed, len(judgements))


def test_numbers_are_medians_with_their_distance() -> None:
    one = verdict(Judgement(True, 1.0), Judgement(True, 4.0), Judgement(True, 2.5))
    assert one.measured == 2.5
    assert one.interval == (1.0, 4.0)
    assert one.distance == pytest.approx(0.5)
    assert one.by_seed == {"0": 1.0, "1": 4.0, "2": 2.5}
    assert one.numbers == "2.5 (1.0 to 4.0)"
    assert verdict(YES, UNREAD, Judgement(False, np.nan)).by_seed == {"0": 1.0}
    assert verdict(YES, preset="text").published is None


def test_the_bootstrap_interval_covers_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        low, high = interval(rng.normal(size=15).tolist()) or (0.0, 0.0)
        inside += low <= 0 <= high
    assert 0.85 <= inside / 200 <= 1.0


def test_verdicts_of_other_claims_stay_in_the_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    add_verdicts([verdict(YES)], tmp_path)
    add_verdicts([verdict(NO, preset="text")], tmp_path)
    held = add_verdicts([verdict(NO)], tmp_path)
    assert held == [verdict(NO, preset="text"), verdict(NO)]
    assert read_verdicts(tmp_path / "verdicts.json") == held
    document = json.loads((tmp_path / "verdicts.json").read_text())
    assert document["schema"] == 1
    keys = {"claim", "preset", "verdict", "measured", "interval", "threshold", "published", "seeds", "scale"}
    assert all(keys | {"outcome", "passed", "of", "limit"} <= set(item) for item in document["verdicts"])


OF_AN_EARLIER_FORM = ("outcome", "passed", "of", "limit")


@pytest.mark.parametrize("judgements", [(YES, YES), (YES, NO), (NO, NO), (UNREAD, UNREAD), (YES, UNREAD), (NO, UNREAD)])
def test_files_without_a_version_are_read(judgements: tuple[Judgement, ...], tmp_path) -> None:  # type: ignore[no-untyped-def]
    """A list of items that say their outcome in words only."""
    stated = verdict(*judgements)
    item = {key: value for key, value in to_item(stated).items() if key not in OF_AN_EARLIER_FORM}
    path = tmp_path / "verdicts.json"
    path.write_text(json.dumps([item]))
    assert read_verdicts(path) == [dataclasses.replace(stated, limit=None)]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[1]",
        '{"verdicts": []}',
        '{"schema": 2, "verdicts": []}',
        '[{"claim": "order", "verdict": "holds", "seeds": []}]',
    ],
)
def test_other_files_are_refused_in_one_line(text: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "verdicts.json").write_text(text)
    with pytest.raises(HeadwiseError, match=r"verdicts\.json is not a file of verdicts .*; move it away"):
        read_verdicts(tmp_path / "verdicts.json")


def test_a_step_by_which_something_is_done_may_come_earlier() -> None:
    """`done by 300` is matched at 180 and at 330, not at 340; `300` is not matched at 180."""
    by = Level("ratio-1.3", "done by", 300, "steps", lambda run: None, "at most")
    at = Level("minimal", "end of stage 1", 300, "steps", lambda run: None)
    assert [by.within(step) for step in (180.0, 330.0, 340.0)] == [True, True, False]
    assert not at.within(180.0)


def test_many_verdicts_end_with_a_line_for_each() -> None:
    outcomes = ((YES, YES, YES), (YES, YES, NO), (NO, NO, NO), (UNREAD, UNREAD, UNREAD))
    found = [dataclasses.replace(verdict(*judgements), claim=f"c{k}") for k, judgements in enumerate(outcomes * 2)]
    few, many = Verdicts(tuple(found[:5])), Verdicts(tuple(found))
    assert few.table not in str(few)
    head, _, *lines = many.table.splitlines()
    assert str(many).endswith(f"{many.table}\n\n{many.summary}")
    assert head.split() == ["claim", "verdict", "held", "in", "measured", "limit"]
    assert [line.split()[0] for line in lines] == [one.claim for one in found]
    assert lines[1].split() == ["c1", "in", "part", "2", "of", "3", "1.0", "(0.0", "to", "1.0)", ">", "0.5"]
    assert lines[3].split()[1:5] == ["inconclusive", "0", "of", "3"]
    mixed = Verdicts((found[0], dataclasses.replace(found[1], preset="text")))
    head, _, *lines = mixed.table.splitlines()
    assert [line.split()[1] for line in (head, *lines)] == ["reading", "published", "text"]


def test_the_longest_names_leave_the_table_in_80_columns() -> None:
    numbers = dataclasses.replace(verdict(YES, YES, NO), measured=0.741, interval=(0.735, 0.750))
    longest = max(ENTRIES, key=len)
    table = Verdicts((dataclasses.replace(numbers, claim=longest),)).table
    assert len(table.splitlines()) == 3
    assert max(map(len, table.splitlines())) <= 80
