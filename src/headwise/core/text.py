"""Plain text that fits a terminal of 80 columns: paragraphs and tables, with nothing cut off.

A table that is too wide folds its cells at spaces; one that is still too wide continues below with further columns.
Only a single word that is longer than a line, such as a path, sticks out: cut, it would be useless. A no-break space
holds words together and is printed as a space.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

WIDTH = 80
GAP = "  "
NO_BREAK = "\u00a0"


def wrap(
    text: str, *, indent: str = "", hanging: str | None = None, width: int = WIDTH, break_words: bool = False
) -> str:
    """A paragraph in lines of at most `width`; lines after the first begin with `hanging` (default: `indent`).

    With `break_words` a word longer than a line is broken too, where columns matter more than the word.

    >>> print(wrap("one two three four", indent="- ", hanging="  ", width=12))
    - one two
      three four
    """
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=indent if hanging is None else hanging,
        break_long_words=break_words,
        break_on_hyphens=False,
    )
    return "\n".join(lines).replace(NO_BREAK, " ")


def definitions(entries: Sequence[tuple[str, str]], *, indent: int = 2, most: int = 24, width: int = WIDTH) -> str:
    """Names on the left, their meanings beside them; a name longer than `most` has its meaning below.

    Empty lines in a meaning separate its paragraphs.

    >>> print(definitions([("lag", "how far back"), ("head", "one attention head")], width=22))
      lag   how far back
      head  one attention
            head
    """
    column = indent + min(most, max(len(name) for name, _ in entries)) + len(GAP)
    lines = []
    for name, meaning in entries:
        left = " " * indent + name
        beside = left.ljust(column) if len(left) + len(GAP) <= column else f"{left}\n" + " " * column
        paragraphs = [wrap(part, indent=" " * column, width=width) for part in meaning.split("\n\n")]
        lines.append((beside + "\n\n".join(paragraphs)[column:]).rstrip())
    return "\n".join(lines)


def text_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], *, align: str = "", repeat: int = 1, width: int = WIDTH
) -> str:
    """A table with a line under its head. `align` has an l or an r for each column; missing ones are l.

    Where folding cells is not enough, the first `repeat` columns are repeated over the further ones.

    >>> print(text_table(("head", "copies"), [("1", "group 2"), ("2", "nothing")], align="rl"))
    head  copies
    ----  -------
       1  group 2
       2  nothing
    """
    cells = [list(row) for row in (columns, *rows)]
    align = align.ljust(len(columns), "l")
    tables = []
    for chosen in _column_sets(cells, repeat=repeat, width=width):
        part = [[row[i] for i in chosen] for row in cells]
        tables.append(_one_table(part, "".join(align[i] for i in chosen), width))
    return "\n\n".join(tables)


def _column_sets(cells: Sequence[Sequence[str]], *, repeat: int, width: int) -> list[list[int]]:
    """Which columns go side by side, so that each set fits once its cells are folded."""
    least = _least_widths(cells)
    sets = [list(range(repeat))]
    for column in range(repeat, len(least)):
        if _total([least[i] for i in (*sets[-1], column)]) > width and len(sets[-1]) > repeat:
            sets.append(list(range(repeat)))
        sets[-1].append(column)
    return sets


def _one_table(cells: Sequence[Sequence[str]], align: str, width: int) -> str:
    least = _least_widths(cells)
    widths = [max(1, *(len(row[i]) for row in cells)) for i in range(len(least))]
    while _total(widths) > width and widths != least:
        widest = max((i for i in range(len(widths)) if widths[i] > least[i]), key=lambda i: widths[i])
        widths[widest] -= 1
    head, *body = [_row(row, widths, align) for row in cells]
    return "\n".join([head, GAP.join("-" * size for size in widths), *body])


def _row(row: Sequence[str], widths: Sequence[int], align: str) -> str:
    folded = [wrap(cell, width=size).split("\n") for cell, size in zip(row, widths, strict=True)]
    lines = []
    for k in range(max(len(parts) for parts in folded)):
        texts = [parts[k] if k < len(parts) else "" for parts in folded]
        line = GAP.join(
            text.rjust(size) if side == "r" else text.ljust(size)
            for text, size, side in zip(texts, widths, align, strict=True)
        )
        lines.append(line.rstrip())
    return "\n".join(lines)


def _least_widths(cells: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(word or "-") for row in cells for word in row[i].split(" ")) for i in range(len(cells[0]))]


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + len(GAP) * (len(widths) - 1)
