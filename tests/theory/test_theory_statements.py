"""Every statement through the same checks, and the corrections that make the difference."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headwise.core.errors import ConfigError
from headwise.theory.check import check
from headwise.theory.page import render
from headwise.theory.registry import (
    MODULES,
    all_corrected_hold,
    check_statement,
    load_statement,
    run_checks,
    statement_names,
)
from headwise.theory.statement import approximation, bound, identity, relative_error

FALSE_AS_PRINTED = {
    "tensor-inner-product", "noise-assumption", "isotropic-scale", "one-hot-tokens", "kernel", "ordering", "coupling",
    "coupling-region", "coupling-rate", "value-bound", "bounded", "cooperative-gradient", "cooperative-ascent",
    "bounded-cooperative", "optimality-rate", "projector-expansion", "first-position-rate", "first-feature-rate",
    "cooperative-limit", "edge-points", "higher", "cooperative-kernel", "initial-loss", "remaining-heads",
    "initial-value-curvature", "initial-attention-curvature", "initial-attention-growth", "construction-offset",
    "construction-weights", "stage-boundaries", "theory-over-simulation",
}  # fmt: skip
APPROXIMATE = {"haar-features"}
WHOLE_FLOWS = {"stage-boundaries", "compensation", "theory-over-simulation"}


TRUE_AS_PRINTED = {
    "symmetry", "identifiability-example", "identifiability-family", "factorization", "attention-dynamics",
    "kernel-deficit", "coupled-system", "coupled-lyapunov", "value-order-rate", "attention-order-rate",
    "coupled-kernel", "initial-velocity", "initialization-basin", "cooperative-system", "optimality", "two-scale",
    "other-positions-rate", "cooperative-region", "nth-head-rate", "compensation",
}  # fmt: skip
RESULTS_OF_THE_PAPER = (
    "Proposition matrix", "Theorem coupling", "Theorem bounded", "Theorem boundedcoop", "Theorem cooperative",
    "Theorem higher", "Lemma kernel", "Lemma ordering", "Lemma optimality", "Remark initialization", "Remark init_loss",
)  # fmt: skip
"""Every numbered result of §3 and its appendices, by the label it has there."""


def test_every_statement_is_there_once_and_is_sorted_by_what_holds() -> None:
    assert len(MODULES) == len(set(MODULES)) == 52
    assert not FALSE_AS_PRINTED & (APPROXIMATE | TRUE_AS_PRINTED)
    assert set(statement_names()) == FALSE_AS_PRINTED | APPROXIMATE | TRUE_AS_PRINTED
    files = Path(importlib.import_module("headwise.theory.statements").__file__ or "").parent.glob("[!_]*.py")
    assert {path.stem for path in files} == set(MODULES), "a file that is not in the registry is never checked"
    for name in statement_names():
        assert load_statement(name).name == name


@pytest.mark.parametrize("label", RESULTS_OF_THE_PAPER)
def test_every_result_of_the_paper_has_a_statement(label: str) -> None:
    labels = [load_statement(name).label for name in statement_names()]
    assert any(own == label or own.startswith(f"{label},") for own in labels)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in WHOLE_FLOWS else n for n in statement_names()]
)
def test_statement(name: str) -> None:
    """What is false as printed is seen failing; everything holds as corrected."""
    result = check_statement(name, trials=3, seed=11)
    expected = "fails" if name in FALSE_AS_PRINTED else "approximate" if name in APPROXIMATE else "holds"
    assert result.printed.verdict == expected, result.printed
    assert result.corrected.verdict in ("holds", "approximate"), result.corrected
    assert result.printed.evidence
    assert result.corrected.evidence
    for search in result.searches:
        assert search.evidence


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_all_statements_with_full_trials_on_other_seeds() -> None:
    for seed in (1, 2):
        results = run_checks(trials=20, seed=seed, workers=2)
        assert all_corrected_hold(results)
        assert {r.name for r in results if r.printed.verdict == "fails"} == FALSE_AS_PRINTED


@pytest.mark.parametrize(
    ("module", "correction", "original"),
    [
        ("projector_expansion", "corrected", "printed"),
        ("initial_value_curvature", "corrected", "printed"),
        ("first_position_rate", "corrected", "printed"),
        ("tensor_inner_product", "double_sum", "single_sum"),
        ("isotropic_scale", "scaled_time", "scaled_strengths"),
        ("optimality_rate", "corrected", "printed"),
    ],
)
def test_a_removed_correction_is_noticed(
    module: str, correction: str, original: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code: Any = importlib.import_module(f"headwise.theory.statements.{module}")
    name = module.replace("_", "-")
    assert all_corrected_hold([check_statement(name, trials=3)])
    monkeypatch.setattr(code, correction, getattr(code, original))
    result = check_statement(name, trials=3)
    assert result.corrected.verdict == "fails"
    assert not all_corrected_hold([result])


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
    checked = check(["kernel", "coupling-region", "cooperative-limit"], trials=2, workers=1)
    document = json.loads(json.dumps(checked.to_json(), allow_nan=False))
    assert [s["name"] for s in document["statements"]] == ["kernel", "coupling-region", "cooperative-limit"]
    for statement in document["statements"]:
        assert set(statement) >= {"name", "label", "printed", "corrected"}
        for side in ("printed", "corrected"):
            assert statement[side]["verdict"] in ("holds", "fails", "approximate")
            assert isinstance(statement[side]["error"], float)
    table = str(checked).splitlines()
    assert "Lemma kernel" in table[2]
    assert [line.split()[0] for line in table if not line.startswith(" ")][2:] == [one.name for one in checked]
    assert max(map(len, table)) <= 80
    page = render(document)
    assert "## cooperative-limit" in page
    assert "(2 trials, seed 0)" in page
    assert "Of 3 statements 0 hold as printed, 0 approximately, and 3 fail; as corrected 3\nhold" in page
    assert "counter-example" in page


@pytest.mark.parametrize("errors", [[float("nan"), 0.0], [0.0, float("nan")], [0.0, float("inf")]])
def test_an_error_that_is_not_a_number_fails(errors: list[float]) -> None:
    assert identity(errors).verdict == "fails"
    assert bound(errors, within=1.0, evidence="").verdict == "fails"
    assert approximation(errors, within=1.0, evidence="").verdict == "fails"


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
    assert bound([0.9], within=1.0, evidence="").verdict == "holds"
    assert bound([float("nan")], within=1.0, evidence="").verdict == "fails"
    assert approximation([0.1], within=0.2, evidence="").verdict == "approximate"
    assert approximation([0.3], within=0.2, evidence="").verdict == "fails"
    assert relative_error(np.array([1.0, 2.0]), np.array([1.0, 2.2])) == pytest.approx(0.2 / 2.2)
    assert relative_error(0.0, 0.0) == 0.0
