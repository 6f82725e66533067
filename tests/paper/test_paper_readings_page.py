"""The page of the two readings tells what the configs are, not what they were."""

from __future__ import annotations

from pathlib import Path

from headwise.paper.readings_page import key_rows, render
from headwise.paper.verdict import Judgement, decide
from headwise.paper.verdict_file import add_verdicts
from headwise.study.experiments import EXPERIMENTS, experiment


def test_key_rows_are_exactly_the_differences() -> None:
    rows = key_rows()
    minimal = {row[1]: row[2:] for row in rows if row[0] == "minimal"}
    text, published = experiment("minimal", "text"), experiment("minimal", "published")
    assert minimal["`train.lr`"] == (str(text.train.lr), str(published.train.lr))
    assert minimal["`task.alpha`"] == (text.task.alpha, published.task.alpha)
    assert "`task.d`" not in minimal
    assert {row[0] for row in rows} <= set(EXPERIMENTS)
    assert ("overlap-3-heads", "`task.groups`") in {row[:2] for row in rows}


def test_the_page_shows_both_readings_side_by_side(tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    about = {"claim": "order", "scale": "paper", "quantity": "rise", "threshold": "in order", "published": 0.385}
    passing = {0: Judgement(True, 0.3), 1: Judgement(True, 0.5)}
    add_verdicts(
        [
            decide(passing, preset="published", **about),
            decide({0: Judgement(False, None)}, preset="text", **about),
        ],
        folder,
    )
    (folder / "table-levels-minimal.csv").write_text("run,quantity\nminimal,end of stage 1\n")
    page = render(tmp_path)
    assert "| order | rise | reproduced: 0.4 (0.3 .. 0.5), 2 seeds | not reproduced, 1 seed | in order |" in page
    assert "| minimal | end of stage 1 |" in page


def test_the_committed_page_is_up_to_date() -> None:
    root = Path(__file__).parents[2]
    assert (root / "docs" / "readings.md").read_text() == render(root / "results")
