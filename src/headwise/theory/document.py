"""Checked statements as one document of plain values: what `headwise check --json` prints and pages are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from headwise.store.manifest import library_versions
from headwise.theory.registry import Result
from headwise.theory.statement import Outcome
from headwise.theory.theorems import numbered_results

SCHEMA = 1


def check_document(results: Sequence[Result], *, trials: int, seed: int) -> dict[str, Any]:
    """`statements[].{name, label, printed.{verdict, class, error}, corrected.{verdict, error}}` with their evidence.

    `theorems[]` has one verdict for each numbered result.
    """
    return {
        "schema": SCHEMA,
        "trials": trials,
        "seed": seed,
        "versions": library_versions(),
        "theorems": [
            {
                "name": one.name,
                "printed": one.printed,
                "class": one.fault,
                "corrected": one.corrected,
                "remark": one.remark,
                "statements": list(one.statements),
            }
            for one in numbered_results(results)
        ],
        "statements": [
            {
                "name": result.name,
                "label": result.label,
                "printed": {**_outcome(result.printed), "class": result.fault, "claim": result.claim},
                "corrected": {**_outcome(result.corrected), "claim": result.correction},
                "readings": [{"words": words, **_outcome(outcome)} for words, outcome in result.readings],
                "counterexample": None if result.counterexample is None else asdict(result.counterexample),
                "searches": [asdict(search) for search in result.searches],
                "seconds": round(result.seconds, 3),
            }
            for result in results
        ],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    """JSON knows no infinity: an unbounded error is null."""
    return {
        "verdict": outcome.verdict,
        "error": _finite(outcome.error),
        "allowed": _finite(outcome.allowed),
        "quantity": outcome.quantity,
        "evidence": outcome.evidence,
    }


def _finite(number: float) -> float | None:
    return number if np.isfinite(number) else None
