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


def with_section(page: str, name: str, section: str) -> str:
    """A page with this text below the mark of that name; what stood below it before is replaced, the rest stays."""
    mark = _mark(name)
    above = page.partition(mark)[0].rstrip("\n")
    return f"{above}\n\n{mark}\n\n{section}" if above else f"{mark}\n\n{section}"


def without_section(page: str, name: str) -> tuple[str, str]:
    """What stands above the mark of that name, and the mark with all below it (empty where there is none)."""
    above, mark, below = page.partition(_mark(name))
    return above.rstrip("\n") + "\n" if above.strip() else "", mark + below


def _mark(name: str) -> str:
    return f"<!-- section: {name} -->"
