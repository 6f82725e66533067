"""What commands print fits a terminal of 80 columns and loses nothing; every command's help explains every option."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from headwise.cli.command import COMMANDS
from headwise.cli.main import main
from headwise.cli.overrides import describe_keys
from headwise.core.config import Config
from headwise.core.glossary import GLOSSARY
from headwise.flow.config import FlowConfig
from headwise.study.experiments import EXPERIMENTS, experiment

STORED = Path(__file__).parents[1] / "browser" / "data" / "minimal" / "0ea5daec-s0"
WIDTH = 80


def printed(arguments: list[str], folder: Path) -> str:
    """Standard output of a command in a process whose terminal would have 80 columns."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-m", "headwise", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_fits(text: str) -> None:
    long = [line for line in text.split("\n") if len(line) > WIDTH]
    assert not long, long


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["phases", "runs/minimal/0ea5daec-s0"], ["leaves"]),
        (["show", "runs/minimal/0ea5daec-s0"], ["finished", "prefix_3", "excess loss"]),
        (["list"], list(EXPERIMENTS)),
        (["list", "--runs", "runs"], ["minimal/0ea5*-s0", "finished"]),
        (["check", "kernel", "initial-attention-curvature", "--trials", "2"], ["initial-attention-curvature"]),
        (["reproduce", "--list"], ["specialisation-full", "table-levels-minimal"]),
        (["reproduce", "--run", "runs/minimal/0ea5daec-s0"], ["specialisation"]),
        (["sweep", "minimal", "--over", "task.m=1,1.5", "--dry-run"], ["runs/minimal/"]),
        (["flow", "--h", "9", "--t-end", "30", "--grid", "linear"], ["stage times", "plateaus"]),
        (["flow", "--seeds", "0..2", "--t-end", "30"], ["final loss"]),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) and len(value) < 4 else "",
)
def test_output_fits(arguments: list[str], words: list[str], tmp_path: Path) -> None:
    shutil.copytree(STORED, tmp_path / "runs" / "minimal" / STORED.name)
    text = printed(arguments, tmp_path)
    assert_fits(text)
    for word in words:
        assert word in text


def test_help_fits_in_a_process_of_its_own(tmp_path: Path) -> None:
    assert_fits(printed([], tmp_path))
    assert_fits(printed(["flow", "--help"], tmp_path))


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_and_explains(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert_fits(text)
    shown = " ".join(text.split())
    for word in COMMANDS[name].words:
        assert GLOSSARY[word] in shown
    parser = argparse.ArgumentParser()
    COMMANDS[name].add(parser)
    for action in parser._actions:
        assert action.help, f"{action.dest} has no help"
        assert " ".join(action.help.split()) in shown.replace("%%", "%"), f"{action.dest} is cut off"


@pytest.mark.parametrize("base", [experiment("minimal"), experiment("full", "text"), FlowConfig()], ids=str)
def test_every_key_is_described(base: Config) -> None:
    text = describe_keys(base)
    assert_fits(text)
    assert "null" not in text, "a command line says none"
    for line, following in zip(text.split("\n"), [*text.split("\n")[1:], ""], strict=True):
        if line.startswith("  --"):
            assert len(line.split(maxsplit=2)) == 3 or following.startswith(" " * 10), f"{line.strip()} says nothing"
