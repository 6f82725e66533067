"""`headwise phases`: the report of one run or of several, as text of 80 columns or as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headwise.cli.main import main
from headwise.phases.detection import detect, detect_seeds
from headwise.store import load_trajectory

RUN = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"


@pytest.mark.parametrize(("options", "groups"), [([], "given"), (["--hide-groups"], "found")])
def test_the_text_of_one_run_is_its_report(capsys: pytest.CaptureFixture[str], options: list[str], groups: str) -> None:
    assert main(["phases", str(RUN), *options]) == 0
    text = capsys.readouterr().out
    assert text == f"{detect(load_trajectory(RUN), groups=groups)}\n"
    assert max(map(len, text.splitlines())) <= 80


def test_several_runs_are_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    run = load_trajectory(RUN)
    assert main(["phases", str(RUN), str(RUN)]) == 0
    text = capsys.readouterr().out
    assert text == f"{detect_seeds([run, run])}\n"
    assert max(map(len, text.splitlines())) <= 80
    assert main(["phases", str(RUN), str(RUN), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == detect_seeds([run, run]).to_json()


def test_a_figure_of_several_runs_is_refused_in_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["phases", str(RUN), str(RUN), "--figure", str(tmp_path / "f.png")]) == 2
    captured = capsys.readouterr()
    assert len(captured.err.strip().splitlines()) == 1
    assert "--figure draws one run" in captured.err
    assert not list(tmp_path.iterdir())
