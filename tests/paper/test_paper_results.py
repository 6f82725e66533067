"""What lies under results is of the claims and levels as they stand, and what is written about it agrees with it."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest

from headwise.core.csv_text import read_csv
from headwise.paper.levels import COLUMNS, LEVELS
from headwise.paper.manifest import ENTRIES
from headwise.paper.verdict_file import read_verdicts

RESULTS = Path(__file__).parents[2] / "results"
FOLDERS = sorted(path.parent for path in RESULTS.glob("*/verdicts.json"))
TABLES = sorted(RESULTS.glob("*/table-levels-*.csv"))


def test_there_is_something_to_look_at() -> None:
    assert "paper" in {folder.name for folder in FOLDERS}
    stored = {path.stem.removeprefix("table-levels-") for path in (RESULTS / "paper").glob("table-levels-*.csv")}
    assert {"minimal-published", "init-published", "online-published", "flow-published"} <= stored
    readings = {verdict.preset for verdict in read_verdicts(RESULTS / "paper" / "verdicts.json")}
    assert {"published", "text"} <= readings


@pytest.mark.parametrize("path", TABLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_stored_table_is_of_the_present_levels(path: Path) -> None:
    """A level added, changed or read otherwise makes the table out of date."""
    columns, rows = read_csv(path)
    assert tuple(columns) == COLUMNS
    name = path.stem.removeprefix("table-levels-").removesuffix("-published").removesuffix("-redrawn")
    if name == "flow":
        assert {row[0] for row in rows} == {"flow"}
        return
    known = {(one.experiment, one.quantity): one for one in LEVELS[name]}
    assert [(run, what) for run, what, *_ in rows] == list(known)
    for level, (_, _, published, measured, _, off, matches) in zip(known.values(), rows, strict=True):
        assert float(published.split()[0]) == level.published
        if measured == "not found":
            assert matches == "no"
        else:
            assert float(measured) - level.published == pytest.approx(
                float(off), abs=0.01 * abs(float(measured)) + 0.01
            )
            # The table has two digits: a value at the limit may lie on either side of it.
            possible = {level.within(level.published + float(off) + rounded) for rounded in (-0.005, 0.0, 0.005)}
            assert matches.startswith("yes") in possible


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_not_reproduced_is_discussed(folder: Path) -> None:
    """The pages are written by hand; a verdict that changes must not leave them behind unnoticed."""
    page = (folder / "README.md").read_text(encoding="utf-8")
    discussed = set(re.findall(r"\*\*([a-z-]+)\*\*|`([a-z-]+)`", page))
    names = {name for pair in discussed for name in pair if name}
    for verdict in read_verdicts(folder / "verdicts.json"):
        assert verdict.claim in ENTRIES
        if verdict.outcome != "reproduced" and verdict.preset != "text":
            assert verdict.claim in names, f"{verdict.claim}: {verdict.text}"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_said_not_to_hold_does_not(folder: Path) -> None:
    page = (folder / "README.md").read_text(encoding="utf-8")
    outcomes: dict[str, set[str]] = {}
    for verdict in read_verdicts(folder / "verdicts.json"):
        if verdict.preset != "text":
            outcomes.setdefault(verdict.claim, set()).add(verdict.outcome)
    part = page.partition("does not hold")[2].partition("\n## ")[0].partition("The reverse:")[0]
    said = {
        name for line in part.splitlines() if line.startswith("- **") for name in re.findall(r"\*\*([a-z-]+)", line)
    }
    assert said - {"text"}
    for claim in said - {"text"}:
        assert outcomes[claim] != {"reproduced"}, claim


def test_the_readme_counts_what_is_stored() -> None:
    readme = " ".join((RESULTS.parent / "README.md").read_text(encoding="utf-8").split())
    rows = [row for path in (RESULTS / "paper").glob("table-levels-*-published.csv") for row in read_csv(path)[1]]
    matching = sum(row[-1].startswith("yes") for row in rows)
    verdicts = read_verdicts(RESULTS / "paper" / "verdicts.json")
    found = Counter(verdict.outcome for verdict in verdicts if verdict.preset == "published")
    assert f"{matching} of {len(rows)} published numbers match" in readme
    counts = f"{found['reproduced']} hold in every seed and {found['partly reproduced']} in some"
    assert f"of {found.total()} claims {counts}" in readme


def test_slopes_of_the_phase_diagram_are_those_of_its_table() -> None:
    page = " ".join((RESULTS / "phase-diagram" / "README.md").read_text(encoding="utf-8").split())
    with (RESULTS / "phase-diagram" / "stage-times-slopes.csv").open(encoding="utf-8", newline="") as file:
        rows = {float(row["m"]): row for row in csv.DictReader(file)}
    for column in ("trained_per_decade", "flow_per_decade", "predicted_per_decade"):
        *first, last = (f"{float(rows[m][column]):.0f}" for m in (1.3, 1.5, 1.7, 2.0))
        assert f"{', '.join(first)} and {last}" in page, column
