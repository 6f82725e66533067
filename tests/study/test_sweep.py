"""Grids, many runs on workers that die, and what is gathered from them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from tests.conftest import tiny
from tests.study.test_resume import assert_same

from headwise.cli.main import main
from headwise.core.errors import ConfigError, Interrupted, MachineError
from headwise.store import RunDirectory
from headwise.study.executors import InProcess
from headwise.study.grid import plan_points, split_values
from headwise.study.many import Outcome, run_all
from headwise.study.runner import execute

SIZES = {
    "task.d": 6,
    "task.T": 5,
    "train.batch": 20,
    "train.samples": 60,
    "train.steps": 12,
    "train.checkpoint_every": 4,
    "measure.test_samples": 30,
}
TINY = ["--preset", "redrawn", *(part for key, value in SIZES.items() for part in (f"--{key}", str(value)))]


def test_points_multiply_and_zip() -> None:
    points = plan_points({"task.m": [1, 2], "task.d": [5, 6]}, {"train.lr": [0.1, 0.2], "train.batch": [3, 4]})
    assert len(points) == 8
    assert points[0] == {"task.m": 1, "task.d": 5, "train.lr": 0.1, "train.batch": 3}
    assert points[-1] == {"task.m": 2, "task.d": 6, "train.lr": 0.2, "train.batch": 4}
    assert split_values("[1,2],[3],x") == ["[1,2]", "[3]", "x"]


@pytest.mark.parametrize(
    ("over", "zipped", "words"),
    [
        ({"task.mm": [1]}, {}, "did you mean task.m"),
        ({"seed": [1]}, {}, "--seeds"),
        ({"task.m": []}, {}, "empty"),
        ({"task.m": [1, 1]}, {}, "twice"),
        ({"task.m": [1]}, {"task.m": [2]}, "--over and in --zip"),
        ({}, {"task.m": [1], "task.d": [2, 3]}, "one length"),
    ],
)
def test_bad_grids(over: dict, zipped: dict, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        plan_points(over, zipped)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--over", "task.mm=1,2"], "did you mean task.m"),
        (["--over", "task.m=1,-2"], "task.m"),
        (["--over", "task.m="], "empty"),
        (["--over", "task.m"], "KEY=V1,V2"),
        (["--over", "task.m=1,1"], "twice"),
        (["--over", "task.m=1,1.0"], "same run"),
        (["--over", "train.lr=0.1", "--over", " train.lr=0.2"], "twice"),
        (["--seed", "3"], "--seeds 3"),
        (["--recover"], "--recover"),
        (["--seeds", "1,1"], "twice"),
        (["--executor", "mainframe", "--workers", "2"], "local, slurm"),
        (["--executor", "tcp://127.0.0.1:9"], "no scheduler answers"),
        (["--workers", "0"], "--workers"),
        (["--cluster", "absent.toml", "--executor", "slurm"], "absent.toml"),
    ],
)
def test_bad_sweeps_start_nothing(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["sweep", "minimal", *TINY, *arguments, "--out", str(tmp_path / "runs")]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert words in errors[-1]
    assert not (tmp_path / "runs").exists()


def test_sweep_finishes_what_is_missing_and_collects(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["sweep", "minimal", *TINY, "--over", "task.m=1.2,1.7", "--seeds", "0..1", "--out", str(tmp_path / "a")]
    assert main([*arguments, "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert (len(plan["runs"]), plan["to_compute"]) == (4, 4)
    assert main([*arguments, "--json"]) == 0
    assert {r["status"] for r in json.loads(capsys.readouterr().out)["runs"]} == {"finished"}
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("manifest.json")}
    assert main(arguments) == 0
    assert "0 to compute" in capsys.readouterr().err
    assert written == {path: path.stat().st_mtime_ns for path in (tmp_path / "a").rglob("manifest.json")}
    assert main(["collect", str(tmp_path / "a"), "-o", str(tmp_path / "c"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []
    table = pq.read_table(tmp_path / "c" / "runs.parquet").to_pydict()
    assert sorted(zip(table["config.task.m"], table["seed"], strict=True)) == [(1.2, 0), (1.2, 1), (1.7, 0), (1.7, 1)]
    curves = pq.read_table(tmp_path / "c" / "curves.parquet")
    run = RunDirectory(table["run"][0])
    stored = run.read_metrics()
    rows = [r for r in curves.to_pylist() if r["run"] == str(run.path) and r["variable"] == "excess_loss"]
    assert [r["value"] for r in rows] == stored.variables["excess_loss"].tolist()
    drawn = ["--x", "task.m", "--y", "seed", "--value", "excess-loss", "-o", str(tmp_path / "d.png")]
    assert main(["diagram", str(tmp_path / "c" / "runs.parquet"), *drawn]) == 0
    assert (tmp_path / "d.csv").read_text().count("\n") == 5


def test_a_thousand_runs_are_planned_in_two_seconds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """In time of the processor, so that a busy machine does not fail it."""
    axes = [f"task.m={','.join(f'1.{k}' for k in range(10))}", f"train.lr={','.join(f'{k}e-3' for k in range(1, 11))}"]
    began = time.process_time()
    over = [part for axis in axes for part in ("--over", axis)]
    assert (
        main(["sweep", "minimal", *over, "--seeds", "0..9", "--dry-run", "--json", "--out", str(tmp_path / "a")]) == 0
    )
    assert time.process_time() - began < 2.0
    plan = json.loads(capsys.readouterr().out)
    assert len(set(plan["runs"])) == plan["to_compute"] == 1000


def test_runs_leave_no_file_open(tmp_path: Path) -> None:
    """`scripts/measure_sweeps.py flat` measures a thousand of them, memory and workers included."""
    opened: list[int] = []
    configs = [tiny(seed=seed, train__steps=2) for seed in range(6)]
    run_all(configs, tmp_path, executor=InProcess(), argv=[], ended=lambda o: opened.append(psutil.Process().num_fds()))
    assert len(opened) == 6
    assert opened[1:] == [opened[1]] * 5


def test_a_run_in_this_process_is_told_before_the_next_begins(tmp_path: Path) -> None:
    told: list[tuple[str, int]] = []
    configs = [tiny(seed=seed, train__steps=2) for seed in range(3)]

    def ended(outcome: Outcome) -> None:
        told.append((outcome.status, len(list(tmp_path.rglob("manifest.json")))))

    run_all(configs, tmp_path, executor=InProcess(), argv=[], ended=ended)
    assert told == [("finished", 1), ("finished", 2), ("finished", 3)]


def test_conflicting_roots_are_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for root, chunk in (("a", "50"), ("b", "50"), ("c", "7")):
        assert main(["train", "minimal", *TINY, "--out", str(tmp_path / root), "-q", "--compute.chunk", chunk]) == 0
    capsys.readouterr()
    assert main(["collect", *(str(tmp_path / r) for r in "abc"), "-o", str(tmp_path / "t"), "--json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert len(notes) == 1
    assert "conflict" in notes[0]


def test_a_run_that_was_stopped_and_resumed_is_no_conflict(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tiny()
    execute(config, tmp_path / "a")
    stops = iter([False] * 6 + [True])
    with pytest.raises(Interrupted):
        execute(config, tmp_path / "b", stop_asked=lambda: next(stops))
    execute(config, tmp_path / "b")
    files = [{path.name for path in (tmp_path / root).rglob("metrics-*.parquet")} for root in "ab"]
    assert files[0] != files[1], "the measurements lie in other files"
    assert main(["collect", *(str(tmp_path / r) for r in "ab"), "-o", str(tmp_path / "t"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["notes"] == []


def test_one_diverging_run_does_not_stop_the_rest(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = ["sweep", "minimal", *TINY, "--train.optimizer", "SGD", "--train.clip", "none"]
    code = main([*arguments, "--over", "train.lr=0.1,0.2,1e38", "--out", str(tmp_path), "--json", "-q"])
    out, err = capsys.readouterr()
    assert code == 4
    assert sorted(r["status"] for r in json.loads(out)["runs"]) == ["diverged", "finished", "finished"]
    assert "infinite" in err


def workers_of(pid: int) -> list[psutil.Process]:
    """Worker processes of a controller: the children that are not helpers of multiprocessing."""
    children = psutil.Process(pid).children(recursive=True)
    return [c for c in children if "spawn_main" in " ".join(c.cmdline())]


@pytest.mark.parametrize(
    ("runs", "steps", "deaths"),
    [
        pytest.param(4, 100, "wc", id="small"),
        pytest.param(24, 600, "wwcwwcwwc", id="full", marks=[pytest.mark.slow, pytest.mark.timeout(1800)]),
    ],
)
def test_workers_and_controller_killed(runs: int, steps: int, deaths: str, tmp_path: Path) -> None:
    """Workers (w) and controllers (c) die by SIGKILL; every run finishes, none twice, bit for bit as in series.

    The deaths are spread over the sweep by the number of runs that have ended, so that all happen on any machine.
    """
    arguments = ["minimal", *TINY[:10], "--train.steps", str(steps), "--train.checkpoint_every", "20"]
    sweep = [sys.executable, "-m", "headwise", "sweep", *arguments, "--seeds", f"0..{runs - 1}", "-q"]
    command = [*sweep, "--workers", "2", "--out", str(tmp_path / "killed")]
    rng = random.Random(1)
    ended: dict[Path, int] = {}
    happened = ""
    controller = subprocess.Popen(command)
    while controller.poll() is None:
        time.sleep(rng.uniform(0.1, 0.4))
        for manifest in (tmp_path / "killed").rglob("manifest.json"):
            written = manifest.stat().st_mtime_ns
            assert ended.setdefault(manifest, written) == written
        begun = any((tmp_path / "killed").rglob("checkpoint-*"))
        if len(happened) == len(deaths) or not begun or len(ended) < len(happened) * runs // (len(deaths) + 1):
            continue
        if deaths[len(happened)] == "c":
            controller.kill()
            controller.wait()
            controller = subprocess.Popen(command)
            happened += "c"
        elif alive := workers_of(controller.pid):
            rng.choice(alive).kill()
            happened += "w"
    assert controller.returncode == 0
    assert happened == deaths
    subprocess.run([*sweep, "--workers", "1", "--out", str(tmp_path / "serial")], check=True)
    names = sorted(os.listdir(tmp_path / "serial" / "minimal"))
    assert len(names) == runs
    assert sorted(os.listdir(tmp_path / "killed" / "minimal")) == names
    for name in names:
        whole, killed = (RunDirectory(tmp_path / root / "minimal" / name) for root in ("serial", "killed"))
        assert_same(whole, killed)


def test_a_running_scheduler_is_used(tmp_path: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as running:
        command = ["sweep", "minimal", *TINY, "--seeds", "0..1", "--executor", running.scheduler_address, "-q"]
        assert main([*command, "--out", str(tmp_path / "there")]) == 0
    assert main(["sweep", "minimal", *TINY, "--seeds", "0..1", "-q", "--out", str(tmp_path / "here")]) == 0
    for run in sorted((tmp_path / "here" / "minimal").iterdir()):
        assert_same(RunDirectory(run), RunDirectory(tmp_path / "there" / "minimal" / run.name))


class WithoutScheduler(Executor):
    """Tasks are cancelled from outside, as dask does when its scheduler is gone."""

    def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.cancel()
        return future


def test_a_scheduler_that_is_gone_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="gone with 2 runs left; the same command goes on"):
        run_all([tiny(seed=0), tiny(seed=1)], tmp_path, executor=WithoutScheduler(), argv=[])
