"""The page of the two readings tells what the configs are, not what they were."""

from __future__ import annotations

import json
from pathlib import Path

from headwise.paper.readings_page import key_rows, render
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
    item = {
        "claim": "order",
        "preset": "published",
        "verdict": "reproduced",
        "quantity": "rise",
        "measured": 0.4,
        "interval": [0.3, 0.5],
        "threshold": "in order",
        "published": 0.385,
        "seeds": [0, 1],
        "scale": "paper",
    }
    folder = tmp_path / "paper"
    folder.mkdir()
    other = {**item, "preset": "text", "verdict": "not reproduced", "measured": None, "interval": None, "seeds": [0]}
    (folder / "verdicts.json").write_text(json.dumps([item, other]))
    (folder / "table-levels-minimal.csv").write_text("run,quantity\nminimal,end of stage 1\n")
    page = render(tmp_path)
    assert "| order | rise | reproduced: 0.4 (0.3 .. 0.5), 2 seeds | not reproduced, 1 seed | in order |" in page
    assert "| minimal | end of stage 1 |" in page


def test_the_committed_page_is_up_to_date() -> None:
    root = Path(__file__).parents[2]
    assert (root / "docs" / "readings.md").read_text() == render(root / "results")
