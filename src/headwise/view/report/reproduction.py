"""The page of verdicts: every claim of the paper and every statement of its theory, with figures and numbers.

`verdicts` are mappings with `claim, preset, verdict, measured, interval, threshold, published, seeds, scale`,
`statements` mappings with `name, label, printed, corrected` (each `verdict` and `error`). Anything else they hold is
shown in the opened row. What is missing stays an empty cell: this page judges nothing.
"""

from __future__ import annotations

import base64
import importlib.metadata
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError
from headwise.view.report.html import render, write_page
from headwise.view.report.palette import PALETTE

CLAIM_COLUMNS = ("claim", "preset", "verdict", "measured", "interval", "threshold", "published", "seeds", "scale")
STATEMENT_COLUMNS = ("name", "label", "printed", "printed error", "corrected", "corrected error")
GOOD = frozenset({"holds", "hold", "pass", "passed", "true", "yes", "reproduced", "correct"})
BAD = frozenset({"fails", "fail", "failed", "false", "no", "refuted", "wrong", "does not hold", "not reproduced"})
KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
FIGURE_BYTES = 8_000_000
"""Figures beyond this are named but not embedded: a page that cannot be mailed is no page."""


@dataclass(frozen=True)
class Cell:
    """Text for a person, a value to sort by, and for verdicts which way they went."""

    text: str
    sort: str
    mood: str = ""


@dataclass(frozen=True)
class Row:
    """One line of a table, and what it shows when opened."""

    name: str
    cells: list[Cell]
    moods: str
    numbers: list[tuple[str, str]]
    figures: list[str]


def write_reproduction_page(
    path: Path | str,
    verdicts: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Path | str | Sequence[Path | str]],
    *,
    statements: Sequence[Mapping[str, Any]] = (),
    title: str = "The paper, claim by claim",
    provenance: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> int:
    """Write the page; returns its size in bytes.

    `figures` are PNG or SVG files by claim, by `claim/preset` or by statement name; `provenance` is any mapping of
    versions, commit, seeds, times; `command` is the command line that makes the page again.
    """
    page = reproduction_page(
        verdicts, figures, statements=statements, title=title, provenance=provenance, command=command
    )
    return write_page(path, page)


def reproduction_page(
    verdicts: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Path | str | Sequence[Path | str]],
    *,
    statements: Sequence[Mapping[str, Any]] = (),
    title: str = "The paper, claim by claim",
    provenance: Mapping[str, Any] | None = None,
    command: str | None = None,
) -> str:
    """The page as text."""
    embedded, left_out = embed(figures)
    shown_figures = {name: list(files) for name, files in embedded.items()}
    claims = [_claim_row(verdict, shown_figures) for verdict in verdicts]
    checks = [_statement_row(statement, shown_figures) for statement in statements]
    tables = [
        {
            "id": "claims",
            "title": "Claims",
            "columns": CLAIM_COLUMNS,
            "rows": claims,
            "counts": _counts(str(v.get("verdict", "")) for v in verdicts),
        },
        {
            "id": "statements",
            "title": "Theory",
            "columns": STATEMENT_COLUMNS,
            "rows": checks,
            "counts": _counts(verdict_of(s, "printed") for s in statements),
        },
    ]
    context = {
        "title": title,
        "kind": "reproduction",
        "tables": [table for table in tables if table["rows"]],
        "left_out": left_out,
        "provenance": [(str(key), _text(value)) for key, value in (provenance or {}).items()],
        "command": command,
        "version": importlib.metadata.version("headwise"),
    }
    data = {
        "palette": PALETTE,
        "figures": {name: uri for files in embedded.values() for name, uri in files.items()},
        "tables": {
            "claims": [list(CLAIM_COLUMNS)] + [[plain(v.get(key)) for key in CLAIM_COLUMNS] for v in verdicts],
            "statements": [list(STATEMENT_COLUMNS)] + [_statement_values(statement) for statement in statements],
        },
    }
    scripts = tuple(f"static/{name}.js" for name in ("theme", "elements", "exporting", "tables"))
    return render(
        "reproduction.html", context, data=data, styles=("static/page.css", "static/tables.css"), scripts=(scripts,)
    )


def embed(
    figures: Mapping[str, Path | str | Sequence[Path | str]],
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Files by row name as data addresses, by file name, each file once however many rows show it; and which did not
    fit.
    """
    embedded: dict[str, dict[str, str]] = {}
    names: dict[Path, str] = {}
    addresses: dict[str, str] = {}
    left_out: list[str] = []
    used = 0
    for key, value in figures.items():
        for file in [value] if isinstance(value, Path | str) else value:
            path = Path(file)
            if path not in names:
                content, kind = _read_figure(path)
                if used + len(content) > FIGURE_BYTES:
                    left_out.append(f"{key}: {path.name}")
                    continue
                used += len(content)
                names[path] = path.name if path.name not in addresses else f"{key}: {path.name}"
                addresses[names[path]] = f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
            embedded.setdefault(str(key), {})[names[path]] = addresses[names[path]]
    return embedded, left_out


def _read_figure(path: Path) -> tuple[bytes, str]:
    kind = KINDS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(f"{path}: a figure on a page ends in {', '.join(KINDS)}")
    try:
        return path.read_bytes(), kind
    except OSError as error:
        raise ConfigError(f"cannot read figure {path}: {(error.strerror or str(error)).lower()}") from None


def mood(verdict: object) -> str:
    """good, bad or mixed; a verdict nobody has heard of is mixed."""
    word = str(verdict).strip().lower()
    return "good" if word in GOOD else "bad" if word in BAD else "mixed" if word not in ("", "none") else ""


def verdict_of(statement: Mapping[str, Any], reading: str) -> str:
    """The verdict on one reading of a statement, empty where it was not checked."""
    part = statement.get(reading)
    return str(part.get("verdict", "")) if isinstance(part, Mapping) else ""


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


def _claim_row(verdict: Mapping[str, Any], figures: Mapping[str, list[str]]) -> Row:
    claim, preset = str(verdict.get("claim", "")), str(verdict.get("preset", ""))
    cells = [_cell(verdict.get(key), is_verdict=key == "verdict") for key in CLAIM_COLUMNS]
    found = [*figures.get(f"{claim}/{preset}", []), *figures.get(claim, [])]
    numbers = [(str(key), _text(value, full=True)) for key, value in verdict.items()]
    return Row(claim, cells, str(verdict.get("verdict", "")), numbers, found)


def _statement_row(statement: Mapping[str, Any], figures: Mapping[str, list[str]]) -> Row:
    values = _statement_values(statement)
    cells = [_cell(v, is_verdict=c in ("printed", "corrected")) for c, v in zip(STATEMENT_COLUMNS, values, strict=True)]
    numbers: list[tuple[str, str]] = []
    for key, value in statement.items():
        if key in ("printed", "corrected") and isinstance(value, Mapping):
            numbers += [(f"{key} {inner}", _text(item, full=True)) for inner, item in value.items()]
        else:
            numbers.append((str(key), _text(value, full=True)))
    name = str(statement.get("name", ""))
    return Row(name, cells, verdict_of(statement, "printed"), numbers, figures.get(name, []))


def _statement_values(statement: Mapping[str, Any]) -> list[Any]:
    parts = [statement.get(reading) for reading in ("printed", "corrected")]
    pairs = [(p.get("verdict"), p.get("error")) if isinstance(p, Mapping) else (None, None) for p in parts]
    values = [statement.get("name"), statement.get("label"), *pairs[0], *pairs[1]]
    return [plain(value) for value in values]


def _cell(value: Any, *, is_verdict: bool) -> Cell:
    number = value if isinstance(value, int | float) and not isinstance(value, bool) else None
    sort = f"{number!r}" if number is not None else _text(value).lower()
    return Cell(_text(value), sort, mood(value) if is_verdict else "")


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


def _counts(verdicts: Any) -> list[tuple[str, int, str]]:
    return [(word, count, mood(word)) for word, count in Counter(word for word in verdicts if word).most_common()]
