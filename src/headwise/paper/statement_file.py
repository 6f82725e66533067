"""`statements.json`: the checks of the theory's statements, kept beside the verdicts of a reproduction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwise.core.errors import HeadwiseError
from headwise.core.foreign_text import parse_json, read_foreign
from headwise.paper.claims.exact import TRIALS, checked
from headwise.paper.folder import locked, write_json
from headwise.paper.plan import Plan
from headwise.theory.document import check_document

NAME = "statements.json"


def keep_statements(plan: Plan, into: Path) -> list[dict[str, Any]]:
    """Write the plan's checks into the folder and return them; those of an earlier command where the plan has none."""
    document = statements_of(plan)
    if document is None:
        return read_statements(into)
    with locked(into):
        write_json(into / NAME, document)
    statements: list[dict[str, Any]] = document["statements"]
    return statements


def statements_of(plan: Plan) -> dict[str, Any] | None:
    """The checks behind the plan's claim on the theorems, as `headwise check --json` prints them."""
    for entry, preset in plan.pairs():
        if entry.name == "theorems":
            seed = plan.seeds_of(entry, preset)[0]
            return check_document(checked(plan.scale, seed), trials=TRIALS[plan.scale], seed=seed)
    return None


def read_statements(into: Path) -> list[dict[str, Any]]:
    """The statements of a folder; nothing where they were not checked. Files without a version are bare lists."""
    path = into / NAME
    if not path.exists():
        return []
    try:
        found = parse_json(read_foreign(path))
        items = found if isinstance(found, list) else found["statements"]
        return [dict(item) for item in items]
    except (ValueError, TypeError, KeyError) as error:
        raise HeadwiseError(f"{path} is not a list of statements ({error}); move it away") from None
