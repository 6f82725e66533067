"""Rows of the page of verdicts: what a person reads in each cell, and what opens below it.

Nothing here knows a claim or reads anything out of words; what is missing stays out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from headwise.core.rounding import rounded, with_interval
from headwise.view.report.small_pictures import Picture, Sketch, finite_pair, gauge, sketch_picture, with_signs

CLAIM_COLUMNS = ("claim", "reading", "verdict", "measured", "picture")
STATEMENT_COLUMNS = ("statement", "as printed", "as corrected")

Mood = Literal["good", "mixed", "bad"]
"""Which way a verdict went: its colour and its mark."""


SHORT = 8
"""Letters of a unit that stands beside its number; a longer one has a line of its own."""

Kind = Literal["says", "place", "soft", "why"]
"""What a line of a cell is: the claim's sentence, its place in the paper, something beside a number, a reason."""


@dataclass(frozen=True)
class ShownVerdict:
    """A verdict as plain values, its mood, the pictures that its row opens, and curves for the row itself.

    The row shows `claim`, `says` and `in the paper`; `preset`; `verdict`, `passed` and `of`; `measured` with `interval`
    and `unit`, `quantity`, `threshold` and `published`; a picture of these numbers; unless all went well, the first of
    `notes`. It is filtered by `outcome`. The opened row shows all values.
    """

    values: Mapping[str, Any]
    mood: Mood
    figures: Sequence[Path | str] = ()
    sketch: Sketch | None = None


@dataclass(frozen=True)
class ShownStatement:
    """A statement as plain values, with its mood as printed and as corrected.

    The row shows `name`, `label`, `counterexample`, and of `printed` and `corrected` `claim`, `verdict`, `class`,
    `error` and `allowed`; the opened row shows all.
    """

    values: Mapping[str, Any]
    printed: Mood
    corrected: Mood


@dataclass(frozen=True)
class Line:
    """A line of a cell below its main text: its kind, a short word before it, and the text."""

    kind: Kind
    text: str
    before: str = ""


@dataclass(frozen=True)
class Key:
    """An entry below a picture: the class of its line, and its name."""

    kind: str
    name: str


@dataclass(frozen=True)
class Cell:
    """Text for a person, a value to sort by, further lines, pictures, and for verdicts which way they went."""

    text: str
    sort: str
    mood: Mood | Literal[""] = ""
    lines: list[Line] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    caption: str = ""
    keys: list[Key] = field(default_factory=list)


@dataclass(frozen=True)
class Row:
    """One line of a table, by what it is filtered, and what it shows when opened."""

    outcome: str
    cells: list[Cell]
    numbers: list[tuple[str, str]]
    figures: list[str]


def claim_row(verdict: ShownVerdict, figures: list[str]) -> Row:
    """The row of a verdict."""
    values = verdict.values
    name = Cell(
        text_of(values.get("claim")),
        text_of(values.get("claim")).lower(),
        lines=_lines(("says", values.get("says"), ""), ("place", values.get("in the paper"), "")),
    )
    outcome = text_of(values.get("verdict"))
    of = values.get("of")
    seeds = f"{values.get('passed')} of {of} seed{'s' if of != 1 else ''}" if of and "passed" in values else ""
    said = Cell(outcome, outcome.lower(), verdict.mood, _lines(("soft", seeds if seeds not in outcome else "", "")))
    numbers = [(str(key), text_of(value, full=True)) for key, value in values.items()]
    reading = Cell(text_of(values.get("preset")), text_of(values.get("preset")).lower())
    measured = _measured(values, reasons=verdict.mood != "good")
    cells = [name, reading, said, measured, _pictures(values, verdict.sketch)]
    return Row(str(values.get("outcome", "")), cells, numbers, figures)


def statement_row(statement: ShownStatement) -> Row:
    """The row of a statement."""
    values, printed, corrected = statement.values, statement.values["printed"], statement.values["corrected"]
    name = Cell(
        text_of(values.get("name")),
        text_of(values.get("name")).lower(),
        lines=_lines(("place", values.get("label"), "")),
    )
    as_printed = _statement_cell(printed, statement.printed, values.get("counterexample"))
    cells = [name, as_printed, _statement_cell(corrected, statement.corrected)]
    numbers: list[tuple[str, str]] = []
    for key, value in values.items():
        if key in ("printed", "corrected") and isinstance(value, Mapping):
            numbers += [(f"{key} {inner}", text_of(item, full=True)) for inner, item in value.items()]
        else:
            numbers.append((str(key), text_of(value, full=True)))
    return Row(text_of(printed.get("verdict")), cells, numbers, [])


def text_of(value: Any, *, full: bool = False) -> str:
    """A value in a table cell; `full` for the opened row, where nothing is shortened."""
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, float | list | tuple | Mapping):
        return str(value)
    if isinstance(value, float):
        return repr(value) if full else rounded(value, None)
    if isinstance(value, Mapping):
        return ("; " if not full else ";\n").join(f"{key} {text_of(item, full=full)}" for key, item in value.items())
    return ", ".join(text_of(item, full=full) for item in value)


def _measured(values: Mapping[str, Any], *, reasons: bool) -> Cell:
    measured, unit = values.get("measured"), text_of(values.get("unit"))
    number = measured if isinstance(measured, int | float) and not isinstance(measured, bool) else None
    if number is not None:
        shown = with_interval(float(number), finite_pair(values.get("interval")))
    else:
        shown = text_of(measured)
    published = values.get("published")
    printed = f"{published:g}" if isinstance(published, float) else text_of(published)
    notes = values.get("notes")
    seed, note = next(iter(notes.items()), ("", "")) if reasons and isinstance(notes, Mapping) else ("", "")
    lines = _lines(
        ("soft", unit if len(unit) > SHORT else "", "in units of"),
        ("soft", values.get("quantity"), ""),
        ("soft", with_signs(text_of(values.get("threshold"))), "asked for"),
        ("soft", printed, "printed in the paper"),
        ("why", note, f"seed {seed}"),
    )
    text = f"{shown} {unit if len(unit) <= SHORT else ''}".strip() if shown else ""
    return Cell(text, f"{number!r}" if number is not None else shown.lower(), lines=lines)


def _pictures(values: Mapping[str, Any], sketch: Sketch | None) -> Cell:
    pictures: list[Picture] = []
    keys: list[Key] = []
    if sketch is not None and sketch.curves:
        pictures.append(sketch_picture(sketch))
        keys = [Key(curve.kind, curve.name) for curve in sketch.curves]
    if (shown := gauge(values)) is not None:
        pictures.append(shown)
    return Cell("", "", pictures=pictures, caption=sketch.title if keys and sketch else "", keys=keys)


def _statement_cell(outcome: Mapping[str, Any], mood: Mood, counterexample: Any = None) -> Cell:
    verdict = text_of(outcome.get("verdict"))
    error, allowed = (text_of(outcome.get(key)) for key in ("error", "allowed"))
    found = f"{error}, allowed {allowed}" if error and allowed else error
    lines = _lines(
        ("soft", outcome.get("class"), "class"),
        ("says", outcome.get("claim"), ""),
        ("soft", found, "error"),
        ("why", _counterexample(counterexample), "counter-example"),
    )
    return Cell(verdict, verdict.lower(), mood, lines)


def _counterexample(given: Any) -> str:
    """What is given, what is printed about it and what is found."""
    if not isinstance(given, Mapping):
        return ""
    parts = (("", "given"), ("printed ", "printed"), ("found ", "found"))
    return "; ".join(f"{before}{text_of(given[key])}" for before, key in parts if given.get(key))


def _lines(*given: tuple[Kind, Any, str]) -> list[Line]:
    return [Line(kind, text_of(value), before) for kind, value, before in given if text_of(value)]
