"""The page of verdicts: every claim of the paper and every statement of its theory, with figures and numbers.

Whoever writes the page says which way each verdict went; this module knows no claim and reads nothing out of words.
What is missing stays an empty cell.
"""

from __future__ import annotations

import importlib.metadata
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headwise.view.report.embedding import embed
from headwise.view.report.html import render, write_page
from headwise.view.report.palette import PALETTE
from headwise.view.report.verdict_rows import (
    CLAIM_COLUMNS,
    STATEMENT_COLUMNS,
    Mood,
    ShownStatement,
    ShownVerdict,
    claim_row,
    statement_row,
    text_of,
)

ABOUT_CLAIMS = (
    "A dot is a seed, the pale bar their interval, the tall line their median, the diamond the number printed in the "
    "paper; the green side of the dashed line is what the claim asks of the number. Curves are those of the first seed."
)
CLAIM_VALUES = (
    "claim", "says", "in the paper", "preset", "verdict", "quantity", "measured", "unit", "interval", "by_seed",
    "threshold", "published", "seeds", "draws", "scale",
)  # fmt: skip
STATEMENT_VALUES = ("name", "label", "printed", "class", "printed error", "corrected", "corrected error")
"""Columns of the CSV that the page offers."""


def write_reproduction_page(
    path: Path | str,
    verdicts: Sequence[ShownVerdict],
    *,
    statements: Sequence[ShownStatement] = (),
    title: str = "The paper, claim by claim",
    provenance: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> int:
    """Write the page; returns its size in bytes.

    `provenance` is any mapping of versions, commit, seeds, times; `command` is the command line that makes the page
    again.
    """
    page = reproduction_page(verdicts, statements=statements, title=title, provenance=provenance, command=command)
    return write_page(path, page)


def reproduction_page(
    verdicts: Sequence[ShownVerdict],
    *,
    statements: Sequence[ShownStatement] = (),
    title: str = "The paper, claim by claim",
    provenance: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> str:
    """The page as text."""
    embedded = embed([(str(verdict.values.get("claim", "")), verdict.figures) for verdict in verdicts])
    claims = [claim_row(verdict, names) for verdict, names in zip(verdicts, embedded.shown, strict=True)]
    checks = [statement_row(statement) for statement in statements]
    tables = [
        {
            "id": "claims",
            "title": "Claims",
            "about": ABOUT_CLAIMS,
            "columns": CLAIM_COLUMNS,
            "rows": claims,
            "counts": _counts((row.outcome, verdict.mood) for row, verdict in zip(claims, verdicts, strict=True)),
        },
        {
            "id": "statements",
            "title": "Theory",
            "about": "",
            "columns": STATEMENT_COLUMNS,
            "rows": checks,
            "counts": _counts((row.outcome, one.printed) for row, one in zip(checks, statements, strict=True)),
        },
    ]
    context = {
        "title": title,
        "kind": "reproduction",
        "tables": [table for table in tables if table["rows"]],
        "left_out": embedded.left_out,
        "provenance": [(str(key), text_of(value)) for key, value in (provenance or {}).items()],
        "command": command,
        "version": importlib.metadata.version("headwise"),
    }
    data = {
        "palette": PALETTE,
        "figures": embedded.addresses,
        "tables": {
            "claims": [list(CLAIM_VALUES)] + [[plain(v.values.get(key)) for key in CLAIM_VALUES] for v in verdicts],
            "statements": [list(STATEMENT_VALUES)] + [_statement_values(one.values) for one in statements],
        },
    }
    scripts = tuple(f"static/{name}.js" for name in ("data", "theme", "elements", "exporting", "tables"))
    return render(
        "reproduction.html", context, data=data, styles=("static/page.css", "static/tables.css"), scripts=(scripts,)
    )


def plain(value: Any) -> Any:
    """A value for JSON and CSV: nested values as JSON text, numbers that are not finite as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    return json.dumps(_finite(value), ensure_ascii=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _statement_values(statement: Mapping[str, Any]) -> list[Any]:
    printed, corrected = statement["printed"], statement["corrected"]
    named = (statement.get("name"), statement.get("label"))
    as_printed = (printed["verdict"], printed.get("class"), printed.get("error"))
    return [plain(value) for value in (*named, *as_printed, corrected["verdict"], corrected.get("error"))]


def _counts(rows: Any) -> list[tuple[str, int, Mood]]:
    """How many rows have each outcome, the most frequent first, with its mood."""
    return [(outcome, count, mood) for (outcome, mood), count in Counter(rows).most_common()]
