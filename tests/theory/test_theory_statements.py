"""Every statement through the same checks: its verdict as printed, the class of what is wrong, what holds instead."""

from __future__ import annotations

import importlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from headwise.core.errors import ConfigError
from headwise.theory.check import CheckedStatements, check
from headwise.theory.page import render
from headwise.theory.registry import (
    MODULES,
    Result,
    all_classified,
    all_corrected_hold,
    check_statement,
    load_statement,
    run_checks,
    statement_names,
)
from headwise.theory.statement import (
    FAILING,
    NOT_PRINTED,
    Outcome,
    Reading,
    Statement,
    approximation,
    bound,
    effective_fault,
    identity,
    over_readings,
    relative_error,
)
from headwise.theory.theorems import NUMBERED, belongs_to, numbered_results

FAILS = {
    "typo": {
        "tensor-inner-product", "moment-vector", "kernel", "initial-leader", "cooperative-gradient",
        "cooperative-ascent", "first-feature-rate", "cooperative-stationarity", "cooperative-kernel", "remaining-heads",
    },
    "wrong constant": {
        "value-bound", "initial-value-curvature", "initial-attention-curvature", "optimality-rate",
        "projector-expansion", "first-position-rate", "stage-boundaries",
    },
    "false": {
        "construction-weights", "one-hot-tokens", "ordering", "coupling-region", "coupling-projection", "edge-points",
        "cooperative-limit", "initial-loss", "higher", "theory-over-simulation",
    },
}  # fmt: skip
DEPENDS = {
    "construction-offset": "typo", "noise-assumption": "false", "isotropic-scale": "false", "coupling": "false",
    "initial-attention-growth": "wrong constant", "bounded-cooperative": "false", "cooperative-region": "false",
}  # fmt: skip
HOLDS_BUT = {"bounded": "weak", "later-stability": "weak", "optimality": "vacuous"}
OURS = {"haar-features", "coupling-rate"}
WHOLE_FLOWS = {"stage-boundaries", "compensation", "theory-over-simulation"}


def expected(name: str) -> tuple[str, str | None]:
    """Verdict as printed and class."""
    for fault, names in FAILS.items():
        if name in names:
            return "fails", fault
    if name in DEPENDS:
        return "depends", DEPENDS[name]
    return ("not printed", None) if name in OURS else ("holds", HOLDS_BUT.get(name))


def test_every_statement_is_there_once() -> None:
    assert len(MODULES) == len(set(MODULES)) == 67
    named = set().union(*FAILS.values()) | set(DEPENDS) | set(HOLDS_BUT) | OURS
    assert named <= set(statement_names())
    files = Path(importlib.import_module("headwise.theory.statements").__file__ or "").parent.glob("[!_]*.py")
    assert {path.stem for path in files} == set(MODULES), "a file that is not in the registry is never checked"
    for name in statement_names():
        assert load_statement(name).name == name


@pytest.mark.parametrize("label", NUMBERED)
def test_every_numbered_result_of_the_paper_has_a_statement(label: str) -> None:
    assert any(belongs_to(load_statement(name).label) == label for name in statement_names())


def test_proofs_and_additions_are_no_part_of_a_numbered_result() -> None:
    assert belongs_to("Theorem coupling") == "Theorem coupling"
    assert belongs_to("Lemma kernel, ‖s‖₁ < 1") == "Lemma kernel"
    assert belongs_to("Theorem coupling, proof: boundary") is None
    assert belongs_to(load_statement("coupling-rate").label) is None


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in WHOLE_FLOWS else n for n in statement_names()]
)
def test_statement(name: str) -> None:
    """The verdict as printed with its class, on instances nobody has looked at; as corrected everything holds."""
    result = check_statement(name, trials=3, seed=11)
    assert (result.printed.verdict, result.fault) == expected(name), result.printed
    assert result.corrected.verdict in ("holds", "approximate"), result.corrected
    for outcome in (result.printed, result.corrected, *(outcome for _, outcome in result.readings)):
        assert outcome.evidence
        assert outcome.quantity
    for search in result.searches:
        assert search.evidence


@pytest.mark.parametrize("name", statement_names())
def test_what_is_called_false_or_a_wrong_constant_shows_an_instance(name: str) -> None:
    statement = load_statement(name)
    if statement.fault in ("false", "wrong constant") and name not in WHOLE_FLOWS - {"theory-over-simulation"}:
        assert statement.counterexample is not None
        found = statement.counterexample()
        assert found.refutes, found
        assert any(mark.isdigit() for mark in found.given + found.found), "an instance has numbers"


def test_what_has_nothing_to_correct_says_so_and_the_rest_does_not() -> None:
    for name in statement_names():
        statement = load_statement(name)
        if statement.as_corrected is None:
            assert statement.fault is None
            assert statement.correction.startswith("the same")
        assert statement.ours == (name in OURS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_statements_with_full_trials_on_other_seeds() -> None:
    for seed in (1, 2):
        results = run_checks(trials=20, seed=seed, workers=2)
        assert all_corrected_hold(results)
        assert all_classified(results)
        assert {r.name: (r.printed.verdict, r.fault) for r in results} == {n: expected(n) for n in statement_names()}


def test_results_repeat_and_do_not_depend_on_what_else_runs() -> None:
    alone = check_statement("ordering", trials=4, seed=3)
    together = run_checks(["kernel", "ordering"], trials=4, seed=3)
    assert [r.name for r in together] == ["kernel", "ordering"]
    assert together[1].printed == alone.printed
    assert check_statement("ordering", trials=4, seed=4).printed != alone.printed


def test_parallel_checks_are_the_same_checks() -> None:
    names, told = ["kernel", "symmetry", "two-scale"], []
    parallel = run_checks(names, trials=2, workers=2, progress=lambda done, total: told.append((done, total)))
    serial = run_checks(names, trials=2)
    assert [r.corrected for r in parallel] == [r.corrected for r in serial]
    assert [r.name for r in parallel] == [r.name for r in serial]
    assert told[-1] == (3, 3)


def test_json_table_and_page() -> None:
    names = ["noise-assumption", "haar-features", "kernel", "coupling-region", "cooperative-limit"]
    checked = check(names, trials=2, workers=1)
    document = json.loads(json.dumps(checked.to_json(), allow_nan=False))
    assert [s["name"] for s in document["statements"]] == names
    for statement in document["statements"]:
        assert set(statement) >= {"name", "label", "printed", "corrected", "readings", "counterexample"}
        assert statement["corrected"]["verdict"] in ("holds", "fails", "approximate")
        assert isinstance(statement["corrected"]["error"], float)
    assert [s["printed"]["class"] for s in document["statements"]] == ["false", None, "typo", "false", "false"]
    assert [s["printed"]["verdict"] for s in document["statements"]][:2] == ["depends", "not printed"]
    assert [t["name"] for t in document["theorems"]] == ["Theorem cooperative", "Lemma kernel"]
    table = str(checked).splitlines()
    assert max(map(len, table)) <= 80
    page = render(document)
    assert "## cooperative-limit" in page
    assert "(2\ntrials, seed 0)" in page
    assert "Of 5 statements 1 are not printed" in page
    assert (
        "0 hold as printed (0 of them\nweak or vacuous), 0 approximately, 1 depend on the reading, and 3 fail" in page
    )
    assert "Counter-example: h = T = 2" in page


def test_the_table_says_what_its_numbers_and_classes_mean() -> None:
    checked = check(["kernel", "coupling-rate", "cooperative-region"], trials=2, workers=1)
    text = " ".join(str(checked).split())
    assert "fails: typo (" in text
    assert "In brackets: the largest error over all random instances, and the largest that is allowed." in text
    assert "typo: a symbol or an index is misprinted" in text
    assert "depends: the words can be read in several ways" in text
    assert "not printed: an addition of this project" in text
    assert "The class is that of the reading that fails." in text
    assert "wrong constant:" not in text, "a class that is not in the table is not explained"
    assert "the error is: largest speed outwards at a boundary point" in text
    everything = CheckedStatements(checked.results, 2, 0, named=False)
    assert str(everything).splitlines()[0].split() == ["result", "as", "printed", "as", "corrected"]
    assert "the error is:" not in str(everything)


def made(label: str, verdict: str, fault: str | None, corrected: str = "holds") -> Result:
    """A result that nothing was computed for."""
    printed = Outcome(verdict, 1.0, 0.0, "x")
    return Result("x", label, "c", "d", printed, Outcome(corrected, 0.0, 0.0, "x"), (), 0.0, fault)


def test_a_theorem_has_the_worst_verdict_of_its_parts_and_proofs_do_not_count() -> None:
    parts = [
        made("Lemma kernel, one", "holds", None),
        made("Lemma kernel, two", "fails", "typo"),
        made("Theorem coupling", "holds", "weak"),
        made("Theorem coupling, proof: step", "fails", "false"),
    ]
    found = {one.name: (one.printed, one.fault) for one in numbered_results(parts)}
    assert found == {"Theorem coupling": ("holds", "weak"), "Lemma kernel": ("fails", "typo")}


def test_a_failure_without_a_class_is_noticed() -> None:
    def check_that(verdict: str) -> Outcome:
        return Outcome(verdict, 1.0, 0.0, "x")

    for fault, verdict, effective in (
        (None, "fails", "unclassified"),
        ("weak", "fails", "unclassified"),
        ("typo", "fails", "typo"),
        ("typo", "holds", None),
        ("weak", "holds", "weak"),
        (None, "depends", "unclassified"),
        (None, "holds", None),
    ):
        statement = Statement("x", "x", "x", "x", lambda rng, trials: NOT_PRINTED, fault=fault)
        assert effective_fault(statement, check_that(verdict)) == effective
    assert not all_classified([made("x", "fails", "unclassified")])
    assert all_classified([made("x", "fails", "typo")])
    assert all_corrected_hold([made("x", "fails", "typo")])
    assert not all_corrected_hold([made("x", "fails", "typo", corrected="fails")])
    assert set(FAILING) == set(FAILS)


def test_readings_make_one_verdict() -> None:
    good, bad = Outcome("holds", 0.5, 1.0, "a", "q"), Outcome("fails", 0.2, 0.1, "b", "r")
    both = over_readings([("one", good), ("other", bad)])
    assert (both.verdict, both.error, both.allowed) == ("depends", 0.2, 0.1)
    assert over_readings([("one", good), ("other", good)]).verdict == "holds"
    assert over_readings([("one", bad), ("other", bad)]).verdict == "fails"
    broken = over_readings([("one", good), ("other", Outcome("fails", math.nan, 0.1, "c"))])
    assert broken.verdict == "depends"
    assert math.isnan(broken.error)
    assert Reading("words", lambda rng, trials: good).words == "words"


@pytest.mark.parametrize("errors", [[float("nan"), 0.0], [0.0, float("nan")], [0.0, float("inf")]])
def test_an_error_that_is_not_a_number_fails(errors: list[float]) -> None:
    assert identity(errors).verdict == "fails"
    assert bound(errors, within=1.0, evidence="", quantity="").verdict == "fails"
    assert approximation(errors, within=1.0, evidence="", quantity="").verdict == "fails"


def test_unknown_statement_is_refused_with_a_suggestion() -> None:
    with pytest.raises(ConfigError, match="did you mean kernel"):
        run_checks(["kernal"])
    with pytest.raises(ConfigError, match="trials"):
        check_statement("kernel", trials=0)
    with pytest.raises(ConfigError, match="seed"):
        check_statement("kernel", seed=-1)


def test_verdicts() -> None:
    assert identity([1e-12, 2e-12]).verdict == "holds"
    assert identity([1e-12, 2e-3]).verdict == "fails"
    assert bound([0.9], within=1.0, evidence="", quantity="").verdict == "holds"
    assert bound([float("nan")], within=1.0, evidence="", quantity="").verdict == "fails"
    assert approximation([0.1], within=0.2, evidence="", quantity="").verdict == "approximate"
    assert approximation([0.3], within=0.2, evidence="", quantity="").verdict == "fails"
    assert relative_error(np.array([1.0, 2.0]), np.array([1.0, 2.2])) == pytest.approx(0.2 / 2.2)
    assert relative_error(0.0, 0.0) == 0.0
