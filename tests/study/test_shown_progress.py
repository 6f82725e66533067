"""`train` in Python says how far it is, on stderr, and is silent when asked to be."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import tiny

import headwise


def test_training_says_how_far_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    headwise.train(tiny(), out=tmp_path)
    shown = capsys.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert 2 <= len(lines) <= 12, "about a line for each tenth"
    assert lines[-1].startswith("minimal: step ")
    done, steps = lines[-1].split()[2].split("/")
    assert done == steps
    headwise.train(tiny(), out=tmp_path)
    assert capsys.readouterr().err == "", "a run that is there is only read"


def test_it_is_silent_when_asked_or_when_somebody_else_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headwise.train(tiny(), out=tmp_path / "a", progress="off")
    seen: list[int] = []
    headwise.train(tiny(), out=tmp_path / "b", report=lambda progress: seen.append(progress.step))
    assert capsys.readouterr().err == ""
    assert seen
