"""Labels: what a run is called, kept beside what it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import tiny

import headwise
from headwise.cli.main import main
from headwise.core.errors import ConfigError
from headwise.store.labels import read_label


def test_a_label_names_nothing_but_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = headwise.train(tiny(), out=tmp_path, progress="off")
    [run] = (tmp_path / "minimal").iterdir()
    assert headwise.list_runs(tmp_path)[0].label is None
    assert headwise.train(tiny(), out=tmp_path, progress="off", label="wide  one").equals(plain)
    assert [path.name for path in (tmp_path / "minimal").iterdir()] == [run.name], "the same run"
    assert read_label(run) == "wide one"
    assert main(["list", "--runs", str(tmp_path)]) == 0
    assert "wide one" in capsys.readouterr().out
    assert main(["list", "--runs", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["label"] == "wide one"
    headwise.page(run, tmp_path / "page.html")
    assert "<title>wide one" in (tmp_path / "page.html").read_text()
    headwise.train(tiny(), out=tmp_path, progress="off", label="another")
    headwise.train(tiny(), out=tmp_path, progress="off")
    assert read_label(run) == "another", "the last one that was given"
    headwise.verify(run)


def test_a_sweep_labels_its_runs(tmp_path: Path) -> None:
    headwise.sweep(tiny(), over={"task.m": [1, 1.5]}, out=tmp_path, label="ratios")
    assert [run.label for run in headwise.list_runs(tmp_path)] == ["ratios", "ratios"]


def test_no_name_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for label in ("", " ", "x" * 81, 3):
        with pytest.raises(ConfigError, match="is no name; give a word or two"):
            headwise.train(tiny(), out=tmp_path / "runs", progress="off", label=label)  # type: ignore[arg-type]
    assert not (tmp_path / "runs").exists()
