"""The examples of training loops, each run as a program at tiny scale."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

LOOPS = {
    "plain_loop": ((), "SmallTransformer (torch): 2 layers of 2 heads"),
    "hugging_face_trainer": (("transformers", "accelerate"), "GPT2LMHeadModel (hugging_face): 2 layers of 2 heads"),
    "lightning_trainer": (("transformers", "lightning"), "GPT2LMHeadModel (hugging_face): 2 layers of 2 heads"),
    "hand_written_gpt": ((), "Gpt (named modules): 2 layers of 4 and 2 heads"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_the_loop_runs(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    packages, seen = LOOPS[name]
    for package in packages:
        pytest.importorskip(package)
    script = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(script), "--steps", "12", "--out", str(tmp_path / "out")])
    runpy.run_path(str(script), run_name="__main__")
    told = capsys.readouterr().out
    assert seen in told
    assert "up to step 12" in told or "to 12" in told
    page = (tmp_path / "out" / "heads.html").read_text(encoding="utf-8")
    assert "Attention on an example, now" in page
