"""docs/theory.md is what its checks say, and the checks are those of the statements as they stand."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from headwise.theory import late_limit
from headwise.theory.page import main, render
from headwise.theory.registry import TRIALS, check_statement, load_statement, statement_names
from headwise.theory.stage_times import read_csv
from headwise.theory.statement import FAILING
from headwise.theory.theorems import NUMBERED

ROOT = Path(__file__).parents[2]
AGAIN = "python -m headwise.theory.page"


@pytest.fixture(scope="module")
def checks() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "docs" / "theory.json").read_text(encoding="utf-8"))
    return found


def test_the_page_is_made_from_the_stored_checks(checks: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    assert page == render(checks, read_csv(ROOT / "results" / "stage-times.csv")), f"run {AGAIN}"


def test_the_stored_checks_are_of_the_present_statements(checks: dict[str, Any]) -> None:
    """A statement added, removed or reworded, or another number of trials, makes the page out of date."""
    assert (checks["schema"], checks["trials"], checks["seed"]) == (1, TRIALS, 0)
    assert [stored["name"] for stored in checks["statements"]] == statement_names(), f"run {AGAIN} --check"
    for stored in checks["statements"]:
        statement = load_statement(stored["name"])
        words = (stored["label"], stored["printed"]["claim"], stored["corrected"]["claim"])
        assert words == (statement.label, statement.claim, statement.correction), f"run {AGAIN} --check"
        assert [one["words"] for one in stored["readings"]] == [one.words for one in statement.readings]
        assert (stored["counterexample"] is None) == (statement.counterexample is None)


def test_every_stored_failure_has_its_class_and_every_class_is_explained(checks: dict[str, Any]) -> None:
    page = (ROOT / "docs" / "theory.md").read_text(encoding="utf-8")
    for stored in checks["statements"]:
        if stored["printed"]["verdict"] in ("fails", "depends"):
            assert stored["printed"]["class"] in FAILING
        assert stored["printed"]["class"] is None or f"- *{stored['printed']['class']}*: " in page
        assert stored["corrected"]["verdict"] in ("holds", "approximate")
        example = stored["counterexample"]
        assert example is None or (example["refutes"] and f"Counter-example: {example['given']}." in page)
    assert [one["name"] for one in checks["theorems"]] == list(NUMBERED)


@pytest.mark.parametrize("name", ["ordering", "edge-points", "value-bound", "cooperative-limit", "initial-loss"])
def test_a_stored_counterexample_can_be_repeated(name: str, checks: dict[str, Any]) -> None:
    stored = next(one for one in checks["statements"] if one["name"] == name)
    example = load_statement(name).counterexample
    assert example is not None
    assert asdict(example()) == stored["counterexample"]


@pytest.mark.parametrize("name", ["kernel", "ordering", "cooperative-region", "initial-loss", "value-bound"])
def test_a_stored_check_can_be_repeated(name: str, checks: dict[str, Any]) -> None:
    """Verdict, error and what is allowed; errors that are rounding alone may differ between machines."""
    stored = next(one for one in checks["statements"] if one["name"] == name)
    again = check_statement(name, TRIALS, 0)
    for form, outcome in (("printed", again.printed), ("corrected", again.corrected)):
        assert stored[form]["verdict"] == outcome.verdict
        assert stored[form]["allowed"] == outcome.allowed
        assert stored[form]["error"] == pytest.approx(outcome.error, rel=1e-3, abs=1e-9)


def test_an_error_that_is_not_finite_is_shown(checks: dict[str, Any]) -> None:
    statement = checks["statements"][0]
    printed = {**statement["printed"], "class": "typo", "verdict": "fails", "error": None}
    broken = {**statement, "printed": printed}
    assert "fails: typo (not finite > " in render({**checks, "statements": [broken]})


def test_the_page_is_written_where_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    main([str(tmp_path / "page.md")])
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == (ROOT / "docs" / "theory.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", statement_names())
def test_no_evidence_has_a_number_typed_into_it(name: str) -> None:
    """Numbers in evidence are measured or are the constants of the check itself."""
    modules = [importlib.import_module(f"headwise.theory.statements.{name.replace('-', '_')}"), late_limit]
    for module in modules:
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.keyword) and node.arg == "evidence":
                for part in ast.walk(node.value):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        assert not re.search(r"\d\.\d|\de-?\d|= ?-?\d| \d+ ?%", part.value), part.value
