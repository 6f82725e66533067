"""Verdicts over seeds: words, medians, intervals, and what is not allowed to pass."""

from __future__ import annotations

import json

import numpy as np
import pytest

from headwise.paper.levels import Level
from headwise.paper.reproduce import read_verdicts, write_verdicts
from headwise.paper.verdict import Judgement, Verdict, decide, interval


def verdict(*judgements: Judgement, preset: str = "published") -> Verdict:
    return decide(
        dict(enumerate(judgements)),
        claim="c",
        preset=preset,
        scale="quick",
        quantity="q",
        threshold="t",
        published=2.0,
    )


YES, NO, UNREAD = Judgement(True, 1.0), Judgement(False, 0.0), Judgement(None, None, "missing")


@pytest.mark.parametrize(
    ("judgements", "word"),
    [
        ((YES, YES), "reproduced"),
        ((YES, NO), "reproduced in 1 of 2 seeds"),
        ((NO, NO), "not reproduced"),
        ((UNREAD, UNREAD), "inconclusive"),
        ((YES, UNREAD), "reproduced in 1 of 2 seeds"),
        ((NO, UNREAD), "inconclusive"),
    ],
)
def test_words(judgements: tuple[Judgement, ...], word: str) -> None:
    assert verdict(*judgements).verdict == word


def test_numbers_are_medians_with_their_distance() -> None:
    one = verdict(Judgement(True, 1.0), Judgement(True, 4.0), Judgement(True, 2.5))
    assert one.measured == 2.5
    assert one.interval == (1.0, 4.0)
    assert one.distance == pytest.approx(0.5)
    assert verdict(YES, preset="text").published is None


def test_the_bootstrap_interval_covers_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        low, high = interval(rng.normal(size=15).tolist()) or (0.0, 0.0)
        inside += low <= 0 <= high
    assert 0.85 <= inside / 200 <= 1.0


def test_verdicts_of_other_claims_stay_in_the_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    write_verdicts([verdict(YES)], tmp_path)
    write_verdicts([verdict(NO, preset="text")], tmp_path)
    path = write_verdicts([verdict(NO)], tmp_path)
    found = {(item["preset"], item["verdict"]) for item in read_verdicts(path)}
    assert found == {("published", "not reproduced"), ("text", "not reproduced")}
    keys = {"claim", "preset", "verdict", "measured", "interval", "threshold", "published", "seeds"}
    assert all(keys <= set(item) for item in json.loads(path.read_text()))


def test_a_step_by_which_something_is_done_may_come_earlier() -> None:
    """`done by 300` is matched at 180 and at 370, not at 380; `300` is not matched at 180."""
    by = Level("ratio-1.3", "done by", 300, "steps", lambda run: None, "at most")
    at = Level("minimal", "end of stage 1", 300, "steps", lambda run: None)
    assert [by.within(step) for step in (180.0, 370.0, 380.0)] == [True, True, False]
    assert not at.within(180.0)
