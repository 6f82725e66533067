"""The timeline as text for a terminal of 80 columns: a line per head and per view, then what happened, in sentences."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence

import numpy as np

from headwise.core.events import Label
from headwise.core.text import WIDTH, wrap
from headwise.phases.timeline import Row, Timeline, pattern_text
from headwise.phases.views import Stage

NOTHING = "·"
LETTERS = string.ascii_uppercase + string.ascii_lowercase
ANY_OTHER = "#"
"""Stands for every pattern beyond those that have a character of their own."""


def timeline_text(data: Timeline) -> str:
    """One character of a line is one stretch of time: which pattern a head copies there, where a stage ends."""
    data = data.shortened()
    counts = {name: _count(stages) for name, stages in data.stages.items() if stages}
    names = ["step", *data.head_names, *counts]
    label = max(len(name) for name in names) + 1
    width = WIDTH - label - 2 - max((len(count) + 2 for count in counts.values()), default=0)
    symbols = _symbols(data)
    first, last = f"{data.start:.6g}", f"{data.end:.6g}"
    lines = [f"{'step':>{label}}  {first}{last:>{width - len(first)}}"]
    for name, row in zip(data.head_names, data.rows, strict=True):
        lines.append(f"{name:>{label}}  {_bar_line(row, data, symbols, width)}")
    for view, count in counts.items():
        lines.append(f"{view:>{label}}  {_stage_line(data.stages[view], data, width)}  {count}")
    if data.rows:
        lines += _legend(data, symbols, indent=" " * (label + 2))
    return "\n".join([*lines, "", *wrapped(data.sentences)])


def wrapped(sentences: Iterable[str], *, indent: str = "", hanging: str = "  ") -> list[str]:
    """Sentences broken at 80 columns; what a terminal would obey instead of showing becomes a question mark."""
    lines: list[str] = []
    for sentence in sentences:
        shown = "".join(c if c.isprintable() or c.isspace() else "?" for c in sentence)
        lines += wrap(shown, indent=indent, hanging=indent + hanging, break_words=True).split("\n")
    return lines


def _count(stages: Sequence[Stage]) -> str:
    return f"{len(stages)} stage{'s' * (len(stages) > 1)}"


def _symbols(data: Timeline) -> dict[Label, str]:
    """A character for each pattern: the number of its group where that is one digit, else a letter."""
    symbols: dict[Label, str] = {}
    for i, pattern in enumerate(data.patterns):
        digit = isinstance(pattern.label, int) and 0 <= pattern.label < 10
        symbols[pattern.label] = str(pattern.label) if digit else LETTERS[i] if i < len(LETTERS) else ANY_OTHER
    return symbols


def _legend(data: Timeline, symbols: dict[Label, str], indent: str) -> list[str]:
    """What each character stands for; an entry stays on one line where it fits on one."""
    unbroken = "\N{NO-BREAK SPACE}"
    entries = (
        f"{symbols[p.label]} = {pattern_text(p)}".replace(" ", unbroken) for p in data.patterns if p.label in data.drawn
    )
    return [line.replace(unbroken, " ") for line in wrapped(["   ".join(entries)], indent=indent, hanging="")]


def _cells(data: Timeline, width: int) -> np.ndarray:
    return data.start + (np.arange(width) + 0.5) / width * (data.end - data.start)


def _bar_line(row: Row, data: Timeline, symbols: dict[Label, str], width: int) -> str:
    return "".join(
        next((symbols[bar.label] for bar in row.bars if bar.start <= t <= bar.end), NOTHING)
        for t in _cells(data, width)
    )


def _stage_line(stages: Sequence[Stage], data: Timeline, width: int) -> str:
    line = []
    cell = (data.end - data.start) / width
    for t in _cells(data, width):
        inside = any(stage.start <= t <= stage.end for stage in stages)
        edge = any(abs(stage.start - t) <= cell / 2 for stage in stages[1:])
        line.append("|" if edge else "─" if inside else NOTHING)
    return "".join(line)
