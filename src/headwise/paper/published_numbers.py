"""The published numbers beside ours, from the tables that a reproduction has, as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwise.core.csv_text import read_csv
from headwise.core.readings import Preset
from headwise.core.text import text_table
from headwise.paper.levels import COLUMNS
from headwise.paper.scale import Scale

SHOWN = tuple(column for column in COLUMNS if column != "range")
"""Columns that fit a terminal; the files have all of them."""


@dataclass(frozen=True)
class PublishedNumbers:
    """Every published number of one reading that was measured, a row each, with `COLUMNS`."""

    reading: Preset
    scale: Scale
    rows: tuple[tuple[str, ...], ...]

    @property
    def matched(self) -> int:
        """How many of them match."""
        return sum(row[COLUMNS.index("matches")].startswith("yes") for row in self.rows)

    def __str__(self) -> str:
        places = [COLUMNS.index(column) for column in SHOWN]
        task = "figures' task" if self.reading == "published" else "redrawn tasks"
        counted = f"{self.matched} of {len(self.rows)} match"
        title = f"published numbers beside our medians, {task}, {self.scale} scale: {counted}"
        return f"{title}\n\n{text_table(SHOWN, [[row[i] for i in places] for row in self.rows])}"


def published_numbers(tables: Sequence[tuple[Preset, Path]], scale: Scale) -> list[PublishedNumbers]:
    """The tables of one reading as one; nothing for a reading that has none."""
    rows: dict[Preset, list[tuple[str, ...]]] = {}
    for reading, path in tables:
        rows.setdefault(reading, []).extend(tuple(row) for row in read_csv(path)[1])
    return [PublishedNumbers(reading, scale, tuple(found)) for reading, found in rows.items()]
