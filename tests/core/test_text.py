"""Text for terminals: every line fits, and nothing is lost."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import headwise.core.text
from headwise.core.text import definitions, text_table, wrap


def random_cells(rng: np.random.Generator, count: int) -> list[str]:
    """Cells of up to twelve words of up to twelve letters."""

    def word() -> str:
        return "".join(rng.choice(list("abcdefghij.-"), rng.integers(1, 13)))

    return [" ".join(word() for _ in range(rng.integers(0, 13))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(50))
def test_a_table_fits_and_keeps_every_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, width = int(rng.integers(1, 16)), int(rng.integers(30, 81))
    table = [random_cells(rng, columns) for _ in range(rng.integers(1, 5))]
    shown = text_table(table[0], table[1:], width=width)
    assert max(map(len, shown.split("\n"))) <= width
    for word in {word for row in table for cell in row for word in cell.split()}:
        assert word in shown.split()


@pytest.mark.parametrize("seed", range(20))
def test_definitions_fit_and_keep_every_word(seed: int) -> None:
    rng = np.random.default_rng(seed)
    entries = [(f"name-{k}", cell) for k, cell in enumerate(random_cells(rng, 5))]
    shown = definitions(entries, width=40)
    assert max(map(len, shown.split("\n"))) <= 40
    assert shown.split() == [word for name, meaning in entries for word in (name, *meaning.split())]


def test_a_long_name_has_its_meaning_below() -> None:
    shown = definitions([("a", "one"), ("a-long-name", "two words\n\nthree")], most=4, width=16)
    assert shown == "  a     one\n  a-long-name\n        two\n        words\n\n        three"


def test_cells_are_aligned() -> None:
    assert text_table(("n", "x"), [("1", "ab"), ("10", "c")], align="rl") == " n  x\n--  --\n 1  ab\n10  c"


def test_a_long_path_is_not_cut() -> None:
    path = "/a/very/long/path" * 10
    assert path in wrap(f"at {path} it is")
    assert path in text_table(("run",), [(path,)])


def test_examples() -> None:
    assert doctest.testmod(headwise.core.text).failed == 0
