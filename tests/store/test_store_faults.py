"""What a kill -9 at any moment leaves behind, and two writers on one run."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from headwise.core.errors import RunBusy
from headwise.store import RunDirectory, load_trajectory, run_status, steps_done
from headwise.store.files import read_verified
from headwise.store.lock import RunLock, is_locked

WRITER = Path(__file__).with_name("interruptible_writer.py")


def start_writer(path: Path, last_step: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(path), str(last_step)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def visible_files(path: Path) -> list[Path]:
    plain = (".parquet", ".safetensors", ".json")
    return sorted(file for file in path.iterdir() if file.suffix in plain and not file.name.startswith("."))


def kill_and_resume(path: Path, reference: Path, *, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    window, reached, done = 0.2, 0, 0
    while done < kills or reached == 0:
        process = start_writer(path, 10**6)
        time.sleep(moments.uniform(0.0, window))
        process.kill()
        process.wait()
        done += 1
        assert not is_locked(path)
        if not path.exists():
            continue
        for file in visible_files(path):
            read_verified(file)
        run = RunDirectory(path)
        run.verify()
        steps = run.read_metrics().steps
        np.testing.assert_array_equal(steps, np.arange(1, len(steps) + 1))
        assert run_status(path, care="full") == "interrupted"
        if max(run.checkpoints.steps(), default=0) == reached:
            window = min(1.2 * window, 0.5 if reached else 10.0)  # a slow disk needs longer lives to get anywhere
        reached = max(run.checkpoints.steps(), default=0)
    for run_path in (path, reference):
        assert start_writer(run_path, reached + 15).wait() == 0
        assert run_status(run_path, care="full") == "finished"
    names = [file.name for file in visible_files(reference)]
    assert [file.name for file in visible_files(path)] == names
    for name in names:
        if name != "manifest.json":
            assert (path / name).read_bytes() == (reference / name).read_bytes(), name
    listed = [json.loads((folder / "manifest.json").read_bytes())["files"] for folder in (path, reference)]
    assert listed[0] == listed[1]
    assert not list(path.glob(".*.tmp"))


def test_a_run_killed_at_random_moments_ends_with_the_bytes_of_one_never_stopped(tmp_path: Path) -> None:
    kill_and_resume(tmp_path / "killed", tmp_path / "whole", kills=20, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_more_kills(tmp_path: Path, seed: int) -> None:
    kill_and_resume(tmp_path / "killed", tmp_path / "whole", kills=40, seed=100 + seed)


def test_a_second_writer_is_told_who_writes_and_changes_nothing(tmp_path: Path) -> None:
    process = start_writer(tmp_path, 10**6)
    try:
        while not (tmp_path / "config.json").exists():
            time.sleep(0.01)
        assert run_status(tmp_path) == "running"
        with pytest.raises(RunBusy) as caught, RunDirectory(tmp_path).writing():
            pytest.fail("two writers")
        message = str(caught.value)
        assert str(tmp_path) in message
        assert f"process {process.pid} on " in message
        assert "\n" not in message
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    with RunDirectory(tmp_path).writing():
        assert run_status(tmp_path) == "running"
    assert run_status(tmp_path) == "interrupted"


def test_two_objects_in_one_process_exclude_each_other(tmp_path: Path) -> None:
    with RunLock(tmp_path), pytest.raises(RunBusy), RunLock(tmp_path):
        pytest.fail("two holders")
    assert not is_locked(tmp_path)


def test_asking_whether_a_run_is_locked_creates_nothing(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("attempt", range(3))
def test_reading_beside_a_writer_never_raises_a_false_alarm(tmp_path: Path, attempt: int) -> None:
    process = start_writer(tmp_path, 10**6)
    lengths: list[int] = []
    try:
        while len(lengths) < 12 or lengths[-1] == lengths[0]:
            if not list(tmp_path.glob("metrics-*.parquet")):
                continue
            steps = load_trajectory(tmp_path)["step"].values
            np.testing.assert_array_equal(steps, np.arange(1, len(steps) + 1))
            assert RunDirectory(tmp_path).faults() == []
            assert steps_done(tmp_path) >= len(steps)
            lengths.append(len(steps))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert lengths == sorted(lengths)
