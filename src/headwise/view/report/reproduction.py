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
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headwise.view.report.embedding import embed
from headwise.view.report.html import render, write_page
from headwise.view.report.palette import PALETTE

CLAIM_COLUMNS = ("claim", "preset", "verdict", "measured", "interval", "threshold", "published", "seeds", "scale")
STATEMENT_COLUMNS = ("name", "label", "printed", "printed error", "corrected", "corrected error")

Mood = Literal["good", "mixed", "bad"]
"""Which way a verdict went: its colour and its mark."""


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict as plain values, its mood, and the pictures that its row opens.

    The table shows the values under `claim, preset, verdict, measured, interval, threshold, published, seeds, scale`
    and filters by `outcome`; the opened row shows all of them.
    """

    values: Mapping[str, Any]
    mood: Mood
    figures: Sequence[Path | str] = ()


@dataclass(frozen=True)
class ShownStatement:
    """A statement as plain values, with its mood as printed and as corrected.

    The table shows `name`, `label`, and `verdict` and `error` of `printed` and `corrected`; the opened row shows all.
    """

    values: Mapping[str, Any]
    printed: Mood
    corrected: Mood


@dataclass(frozen=True)
class Cell:
    """Text for a person, a value to sort by, and for verdicts which way they went."""

    text: str
    sort: str
    mood: Mood | Literal[""] = ""


@dataclass(frozen=True)
class Row:
    """One line of a table, by what it is filtered, and what it shows when opened."""

    outcome: str
    cells: list[Cell]
    numbers: list[tuple[str, str]]
    figures: list[str]


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
    claims = [_claim_row(verdict, names) for verdict, names in zip(verdicts, embedded.shown, strict=True)]
    checks = [_statement_row(statement) for statement in statements]
    tables = [
        {
            "id": "claims",
            "title": "Claims",
            "columns": CLAIM_COLUMNS,
            "rows": claims,
            "counts": _counts((row.outcome, verdict.mood) for row, verdict in zip(claims, verdicts, strict=True)),
        },
        {
            "id": "statements",
            "title": "Theory",
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
        "provenance": [(str(key), _text(value)) for key, value in (provenance or {}).items()],
        "command": command,
        "version": importlib.metadata.version("headwise"),
    }
    data = {
        "palette": PALETTE,
        "figures": embedded.addresses,
        "tables": {
            "claims": [list(CLAIM_COLUMNS)] + [[plain(v.values.get(key)) for key in CLAIM_COLUMNS] for v in verdicts],
            "statements": [list(STATEMENT_COLUMNS)] + [_statement_values(one.values) for one in statements],
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


def _claim_row(verdict: ShownVerdict, figures: list[str]) -> Row:
    values = verdict.values
    cells = [_cell(values.get(key), verdict.mood if key == "verdict" else "") for key in CLAIM_COLUMNS]
    numbers = [(str(key), _text(value, full=True)) for key, value in values.items()]
    return Row(str(values.get("outcome", "")), cells, numbers, figures)


def _statement_row(statement: ShownStatement) -> Row:
    moods: dict[str, Mood] = {"printed": statement.printed, "corrected": statement.corrected}
    values = _statement_values(statement.values)
    cells = [_cell(value, moods.get(name, "")) for name, value in zip(STATEMENT_COLUMNS, values, strict=True)]
    numbers: list[tuple[str, str]] = []
    for key, value in statement.values.items():
        if key in moods and isinstance(value, Mapping):
            numbers += [(f"{key} {inner}", _text(item, full=True)) for inner, item in value.items()]
        else:
            numbers.append((str(key), _text(value, full=True)))
    return Row(str(values[2]), cells, numbers, [])


def _statement_values(statement: Mapping[str, Any]) -> list[Any]:
    printed, corrected = statement["printed"], statement["corrected"]
    pairs = (printed["verdict"], printed.get("error"), corrected["verdict"], corrected.get("error"))
    return [plain(value) for value in (statement.get("name"), statement.get("label"), *pairs)]


def _cell(value: Any, mood: Mood | Literal[""]) -> Cell:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    sort = f"{number!r}" if number is not None else _text(value).lower()
    return Cell(_text(value), sort, mood)


def _text(value: Any, *, full: bool = False) -> str:
    """A value in a table cell; `full` for the opened row, where nothing is shortened."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, float | list | tuple | Mapping):
        return str(value)
    if isinstance(value, float):
        return repr(value) if full else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ("; " if not full else ";\n").join(f"{key} {_text(item, full=full)}" for key, item in value.items())
    return ", ".join(_text(item, full=full) for item in value)


def _counts(rows: Any) -> list[tuple[str, int, Mood]]:
    """How many rows have each outcome, the most frequent first, with its mood."""
    return [(outcome, count, mood) for (outcome, mood), count in Counter(rows).most_common()]
