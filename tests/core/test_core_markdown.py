"""A table of any cells is read back as the same cells."""

from __future__ import annotations

import re

import pytest

from headwise.core.markdown import markdown_table


def cells(line: str) -> list[str]:
    """The cells of a line, by the rule of the format: a bar ends a cell unless a backslash stands before it."""
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def test_cells_are_read_back() -> None:
    rows = [("1/|I(k)|", 3, "plain"), ("two\nlines", 0.5, "")]
    lines = markdown_table(("a", "b", "c|d"), rows).splitlines()
    assert cells(lines[0]) == ["a", "b", "c|d"]
    assert cells(lines[1]) == ["---"] * 3
    assert [cells(line) for line in lines[2:]] == [["1/|I(k)|", "3", "plain"], ["two lines", "0.5", ""]]


def test_rows_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="a row of 1 cells in a table of 2 columns"):
        markdown_table(("a", "b"), [("x", "y"), ("x",)])
