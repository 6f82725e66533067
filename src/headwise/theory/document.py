"""Checked statements as one document of plain values: what `headwise check --json` prints and pages are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from headwise.store.manifest import library_versions
from headwise.theory.registry import Result
from headwise.theory.statement import Outcome

SCHEMA = 1


def check_document(results: Sequence[Result], *, trials: int, seed: int) -> dict[str, Any]:
    """`statements[].{name, label, printed.{verdict, error}, corrected.{verdict, error}}` with all their evidence."""
    return {
        "schema": SCHEMA,
        "trials": trials,
        "seed": seed,
        "versions": library_versions(),
        "statements": [
            {
                "name": result.name,
                "label": result.label,
                "printed": {**_outcome(result.printed), "claim": result.claim},
                "corrected": {**_outcome(result.corrected), "claim": result.correction},
                "searches": [asdict(search) for search in result.searches],
                "seconds": round(result.seconds, 3),
            }
            for result in results
        ],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    """JSON knows no infinity: an unbounded error is null."""
    error = outcome.error if np.isfinite(outcome.error) else None
    return {"verdict": outcome.verdict, "error": error, "allowed": outcome.allowed, "evidence": outcome.evidence}
