"""Tables as CSV text."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns and rows as CSV with a newline after each row.

    >>> csv_text(["head", "copies"], [[1, "group 2"], [2, "lags 1, 2"]])
    'head,copies\\n1,group 2\\n2,"lags 1, 2"\\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def read_csv(path: Path) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    return columns, rows
