"""The page of the two readings shows what the configs are and what is stored, not what they were."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

from headwise.paper import preset_differences
from headwise.paper.entry import Claim
from headwise.paper.levels import LEVELS
from headwise.paper.manifest import ENTRIES
from headwise.paper.preset_differences import differences
from headwise.paper.readings_page import difference_table, key_rows, level_file, render
from headwise.paper.settings import KEY, settings_of
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


def test_a_row_names_reading_seeds_tasks_numbers_and_dates(tmp_path: Path) -> None:
    folder = tmp_path / "paper"
    claim = ENTRIES["data-size"]
    assert isinstance(claim, Claim)
    about = {"claim": claim.name, "scale": "paper", "published": claim.published, "unit": claim.unit}
    present = {"quantity": claim.quantity, "threshold": claim.threshold}
    dated = {
        "test": {"digest": "d", "commit": "c" * 40, "date": "2026-11-16T19:12:28+01:00"},
    }
    ended = {"commits": [], "first_ended": "2026-11-16T18:19:20+00:00", "last_ended": "2026-11-16T18:30:00+00:00"}
    settings = settings_of(claim, "published", "paper")
    passing = {6: Judgement(True, 1.3), 7: Judgement(True, 1.5)}
    add_verdicts(
        [
            decide({0: Judgement(False, None)}, preset="text", **about, quantity="rise", threshold="in order"),
            decide(passing, preset="redrawn", **about, **present, **dated, runs=ended),
            decide(passing, preset="published", **about, **present, **dated, runs={**ended, KEY: settings}),
        ],
        folder,
    )
    (folder / "table-levels-minimal-redrawn.csv").write_text("run,quantity,matches\nminimal,end of stage 1,no\n")
    page = render(tmp_path)
    verdicts = page.partition("\n## Verdicts")[2]
    rows = [[cell.strip() for cell in line.split(" | ")] for line in verdicts.splitlines() if "data-size | " in line]
    assert [row[1] for row in rows] == ["published", "redrawn", "text"]
    numbers = ["reproduced", "1.40 (1.30 to 1.50)", f"{claim.quantity} [nats]", claim.threshold]
    dates = ["2026-11-16 18:12", "2026-11-16 18:19 |"]
    assert rows[0][2:] == [*numbers, "1.33", "6, 7", "1", *dates]
    assert rows[1][2:] == [f"{numbers[0]}, with earlier settings", *numbers[1:], "", "6, 7", "2", *dates]
    assert rows[2][2] == "not reproduced, by an earlier test"
    assert rows[2][-2:] == ["not dated", "not dated |"]
    assert "| minimal | end of stage 1 |" in page
    held = ["2 of 2", "2 of 2 with earlier settings", "0 of 1 by an earlier test"]
    assert f"| data-size | {claim.about} | {' | '.join(held)} |" in page


def test_the_committed_page_is_up_to_date() -> None:
    root = Path(__file__).parents[2]
    assert (root / "docs" / "readings.md").read_text() == render(root / "results")


def test_differences_name_claims_and_levels_that_exist() -> None:
    for one in differences():
        assert one.claims
        assert all(isinstance(ENTRIES[claim], Claim) for claim in one.claims)
        assert set(one.levels) <= {*LEVELS, "flow"}


def test_numbers_of_the_presets_are_read_from_the_presets() -> None:
    """No setting is typed a second time; what is left are formulas and counts."""
    source = inspect.getsource(preset_differences)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not re.search(r"\d\.\d|\de-?\d|\d{2,}", node.value), node.value


def test_the_table_of_differences_says_what_the_stored_verdicts_say(tmp_path: Path) -> None:
    """Another verdict or level is another page."""
    about = {"preset": "published", "scale": "paper", "quantity": "", "threshold": "", "published": None}
    add_verdicts([decide({0: Judgement(False, 1.0)}, claim="windows", **about)], tmp_path)
    columns, rows = ["run", "quantity", "matches"], [["sgd", "end of stage 1", "yes"], ["sgd", "end of stage 2", "no"]]
    level_file(tmp_path, "sgd").write_text("\n".join(",".join(row) for row in [columns, *rows]))
    table = difference_table(tmp_path)
    assert "the exact law | not reproduced by an earlier test: windows |" in table
    assert "not run: sgd; 1 of 2 numbers of `sgd` match (not: end of stage 2) |" in table
