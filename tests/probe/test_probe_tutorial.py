"""The tutorial as a program, at tiny scale, and the picture's own numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headwise.core.trajectory import assemble
from headwise.view.sheets.heads_by_lag import heads_by_lag, nearest_lags, settled_lag
from headwise.view.write import write_sheet

SCRIPT = Path(__file__).parents[2] / "examples" / "watch_gpt2.py"


def test_the_tutorial_runs(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    tiny = ["--steps", "8", "--width", "12", "--sentences", "4", "--every", "2", "--out", str(tmp_path)]
    answer = subprocess.run([sys.executable, str(SCRIPT), *tiny], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    assert "GPT2LMHeadModel (hugging_face): 1 layer of 3 heads, lags up to 32" in answer.stdout
    assert (tmp_path / "heads_by_lag.png").read_bytes().startswith(b"\x89PNG")
    assert len(json.loads((tmp_path / "report.json").read_text())["specialised"]["heads"]) == 3


def test_the_picture_shows_where_each_head_settled(tmp_path: Path) -> None:
    shares = np.full((20, 2, 2, 7), 0.1)
    shares[:, 0, 1, 4] = 0.4
    shares[-4:, 0, 1] = np.eye(7)[2]
    lags = list(range(-2, 5))
    trajectory = assemble({"attention_by_lag": shares}, {"step": np.arange(20), "lag": lags})
    assert settled_lag(trajectory, block=1, head=2) == (0, 1.0)
    assert nearest_lags(trajectory, 3)["lag"].values.tolist() == [-1, 0, 1, 2, 3]
    write_sheet(heads_by_lag(trajectory, lags=3), tmp_path / "heads.svg")
    assert (tmp_path / "heads.svg").read_text().startswith("<?xml")
