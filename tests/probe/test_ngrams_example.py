"""The example of n-gram predictors, at tiny scale."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "watch_ngrams.py"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("transformers")
    tiny = ["--steps", "10", "--width", "16", "--every", "1", "--characters", "50000", "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *tiny])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert "nearest to the uniform predictor" in capsys.readouterr().out
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["predictors"]["nearest"][0]["predictor"] == "ngram_0"
