"""Names from outside in figures: drawn letter by letter, whatever they hold, and kept as they are in the CSV."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.view.draw import draw_sheet
from headwise.view.labels import LONGEST, plain_label
from headwise.view.panels import Bar, Curve, Plot, Sheet, Timeline
from headwise.view.phase_diagram import MOST_CELLS, phase_diagram
from headwise.view.write import write_drawn

HOSTILE = (
    "$", "$$", "$x_{$", r"$\frac$", r"\input{/etc/passwd}", "a_b^c", "_hidden", "two\nlines", "\x1b[31m", "модель",
    "模型", "😀", "bad-\udcff", "\ud800", "[/red]", "<b>&", "%s{0}", "x" * 5000, "", "\u202eabc",
)  # fmt: skip


def sheet_of(names: tuple[str, ...]) -> Sheet:
    steps = np.arange(3.0)
    curves = tuple(Curve(plain_label(name), steps, steps * k, name=name) for k, name in enumerate(names))
    bars = tuple(Bar(name, 0.0, 100.0, name, "#888888") for name in dict.fromkeys(names))
    timeline = Timeline("", "step", tuple(dict.fromkeys(names)), bars, (), ())
    return Sheet(((Plot("Loss", "step", "nats", curves),), (timeline,)))


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_a_label_is_drawn_as_it_is_written(name: str) -> None:
    figure = draw_sheet(sheet_of((name,)))
    legend = figure.axes[0].get_legend()
    shown = [text.get_text() for text in legend.get_texts()] if legend else []
    assert len(shown) == bool(name), "a name that begins with an underscore is shown too"
    label = plain_label(name)
    assert len(label.replace(r"\$", "$")) <= LONGEST + 1
    assert "\n" not in label
    assert label.count("$") == label.count(r"\$")
    label.encode("utf-8")


@pytest.mark.filterwarnings("error:Glyph", "ignore:constrained_layout")
@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_every_format_takes_every_name(ending: str, tmp_path: Path) -> None:
    sheet = sheet_of(tuple(name for name in HOSTILE if name))
    path, table = write_drawn(sheet, draw_sheet(sheet), [tmp_path / f"a.{ending}"])
    if ending == "svg":
        ElementTree.parse(path)
    series = {row["series"] for row in csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"), newline=""))}
    assert {"$x_{$", "модель", "two\nlines", "bad-\\xff"} <= series


def test_a_diagram_over_a_table_of_somebody_else(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [
        {"run": f"{k}", "config.$x_{$": float(k % 2), "config.a\nb": name, "stages.loss": k, "final.kl.prefix_x": "no"}
        for k, name in enumerate(name for name in HOSTILE if name.isprintable())
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "t.parquet")
    line = ["diagram", str(tmp_path / "t.parquet"), "--x", "$x_{$", "--y", "a\nb", "-o", str(tmp_path / "d.svg")]
    assert main(line) == 0, capfd.readouterr().err
    ElementTree.parse(tmp_path / "d.svg")


COLUMN = "config.task.m"
TABLES: dict[str, dict[str, object]] = {
    "no column run": {COLUMN: [1.0]},
    "no such key": {"run": ["a"]},
    "lists": {"run": ["a"], COLUMN: [[1, 2]]},
    "bytes": {"run": ["a"], COLUMN: [b"\xff"]},
    "structures": {"run": ["a"], COLUMN: [{"a": 1}]},
    "texts for numbers": {"run": ["a"], COLUMN: [1.0], "final.fall": ["much"]},
    "too many cells": {"run": ["a"] * 200, COLUMN: list(range(200)), "config.task.d": list(range(200))},
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_are_none_of_ours(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table(TABLES[name]), tmp_path / "t.parquet")
    y = "task.d" if "config.task.d" in TABLES[name] else "task.m"
    with pytest.raises(ConfigError) as caught:
        phase_diagram(tmp_path / "t.parquet", x="task.m", y=y, quantity="stages")
    assert "\n" not in str(caught.value)
    assert str(MOST_CELLS) in str(caught.value) or "t.parquet is not a table of `headwise collect`" in str(caught.value)


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1e308, 5e-324])
def test_numbers_that_are_none(value: float, tmp_path: Path) -> None:
    columns = {"run": ["a", "b"], COLUMN: [value, 1.0], "config.task.d": [2, 3], "stages.loss": [value, 1.0]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    line = ["diagram", str(tmp_path / "t.parquet"), "--x", "task.m", "--y", "task.d", "-o", str(tmp_path / "d.png")]
    assert main(line) == 0
