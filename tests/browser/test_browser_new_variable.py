"""A new variable in a copy of the package: one row of the table, and one line that computes it.

Nothing else is touched, and the variable is in the stored run, in what `collect` gathers and on the page.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import headwise

TABLE = "ROWS: tuple[Variable, ...] = ("
ROW = """
    Variable(
        "largest_share",
        BY_HEAD,
        "Largest share of attention",
        "The share of a head's attention on the lag it looks at most.",
        unit="share",
        limits=SHARE,
        gathered=("curve", "final"),
    ),"""
MEASURED = '"learning_rate": np.asarray(rate),'
COMPUTED = '\n            "largest_share": shares.max(-1),'
SMALL = ["--steps", "20", "--train.batch", "48", "--train.samples", "960", "--measure.test_samples", "64", "--quiet"]


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory):
    """The command line of a copy of the package that has one variable more."""
    folder = tmp_path_factory.mktemp("copy")
    copy = folder / "headwise"
    shutil.copytree(Path(headwise.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file, place, addition in (
        (copy / "core" / "variables.py", TABLE, ROW),
        (copy / "measure" / "evaluation.py", MEASURED, COMPUTED),
    ):
        text = file.read_text()
        assert text.count(place) == 1
        file.write_text(text.replace(place, place + addition))

    def run(*arguments: object) -> None:
        words = [sys.executable, "-m", "headwise", *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(folder)}
        done = subprocess.run(words, env=environment, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    return run


def test_one_row_and_one_line_are_enough(command, open_page, tmp_path: Path) -> None:
    command("train", "minimal", "--out", tmp_path / "runs", *SMALL)
    command("collect", tmp_path / "runs", "-o", tmp_path / "collected")
    command("report", tmp_path / "runs", "-o", tmp_path / "page.html")

    curves = pq.read_table(tmp_path / "collected" / "curves.parquet").to_pandas()
    shares = curves[curves["variable"] == "attention_by_lag"]
    expected = shares.groupby(["step", "block", "head"])["value"].max()
    own = curves[curves["variable"] == "largest_share"].set_index(["step", "block", "head"])["value"]
    assert len(own) == 3 * 3, "three evaluations of three heads were stored and gathered"
    assert own.sort_index().equals(expected.sort_index())
    [row] = pq.read_table(tmp_path / "collected" / "runs.parquet").to_pylist()
    assert row["final.largest_share.1.2"] == own[20, 1, 2]

    watched = open_page(tmp_path / "page.html")
    watched.page.evaluate("headwise.goTo(20)")
    watched.settle()
    heading = watched.page.get_by_role("heading", name="Largest share of attention")
    panel = watched.page.locator(".panel", has=heading)
    assert panel.locator(".legend .key").all_inner_texts() == [f"head {h}\n{own[20, 1, h]:.3f}" for h in (1, 2, 3)]
    assert heading.get_attribute("title") == "The share of a head's attention on the lag it looks at most."
    with watched.page.expect_download() as download:
        panel.get_by_label("Download the data of Largest share of attention as CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text())))
    drawn = np.array([[row[f"head {h}"] for h in (1, 2, 3)] for row in rows], np.float32)
    assert np.array_equal(drawn, own.sort_index().values.reshape(3, 3).astype(np.float32))
    assert watched.complaints == []
