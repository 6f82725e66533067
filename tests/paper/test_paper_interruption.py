"""Stopping `reproduce` at any moment loses nothing finished, and two at once do not disturb each other."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys
from headwise.cli.main import main
from headwise.paper import scale
from headwise.task import bayes, bayes_fitted
bayes.MOST_VISIBLE, bayes_fitted.STEPS, bayes_fitted.HELD_OUT = 0, 4, 50
scale.MINIMAL["quick"] = scale.Size(30, 20, 120, 10)
sys.exit(main(sys.argv[1:]))
"""


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable, "-c", PROGRAM, "reproduce", "order", "weight-decay", "--seeds", "0..1", "--workers", "1",
        "--out", str(folder / "runs"), "--into", str(folder / "into"),
    ]  # fmt: skip
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def finished(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in (folder / "runs").glob("*/*/manifest.json")}


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_reproduction_goes_on_where_it_was(tmp_path: Path, number: signal.Signals) -> None:
    process = start(tmp_path)
    until = time.monotonic() + 200
    while not finished(tmp_path) and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(number)
    process.wait(60)
    before = finished(tmp_path)
    assert before
    assert start(tmp_path).wait(250) == 0
    after = finished(tmp_path)
    assert len(after) == 4
    assert all(after[path] == time for path, time in before.items())
    assert len(json.loads((tmp_path / "into" / "verdicts.json").read_text())["verdicts"]) == 2


@pytest.mark.slow
def test_two_at_once_share_the_work_and_agree(tmp_path: Path) -> None:
    both = [start(tmp_path), start(tmp_path)]
    assert [process.wait(250) for process in both] == [0, 0]
    assert len(finished(tmp_path)) == 4
    assert len(json.loads((tmp_path / "into" / "verdicts.json").read_text())["verdicts"]) == 2
