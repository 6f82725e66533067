"""Tables of generated pages, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table without a newline at its end.

    A cell may hold any text: a vertical bar is escaped and a line break becomes a space, as either would end the cell.
    """
    body = [list(row) for row in rows]
    for row in body:
        if len(row) != len(columns):
            raise ValueError(f"a row of {len(row)} cells in a table of {len(columns)} columns: {row}")
    lines: list[list[object]] = [list(columns), ["---"] * len(columns), *body]
    return "\n".join(f"| {' | '.join(_cell(value) for value in line)} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).splitlines()).replace("|", "\\|")
