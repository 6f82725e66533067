"""A sweep on a real Slurm whose jobs are cancelled and whose processes are killed.

Needs a Slurm that `sinfo` reaches on this machine, such as the one that `scripts/slurm-on-loopback start` makes;
installs and starts nothing, and is skipped without one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from tests.study.test_resume import assert_same
from tests.study.test_sweep import TINY

from headwise.cli.main import main
from headwise.store import RunDirectory

RUNS = 6
SIZE = [*TINY[:10], "--train.steps", "3000", "--train.checkpoint_every", "50", "--measure.test_samples", "30"]


def slurm_missing() -> str:
    try:
        answer = subprocess.run(["sinfo", "--noheader"], capture_output=True, text=True, timeout=20)
    except FileNotFoundError:
        return "no Slurm here: sinfo is not installed"
    except subprocess.TimeoutExpired:
        return "no Slurm here: sinfo does not answer; scripts/slurm-on-loopback start, then export SLURM_CONF"
    if answer.returncode != 0:
        return "no Slurm here: sinfo reaches nobody; scripts/slurm-on-loopback start, then export SLURM_CONF"
    return ""


@pytest.fixture(autouse=True, scope="module")
def slurm_or_skip() -> None:
    if reason := slurm_missing():
        pytest.skip(reason)
    pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue: pip install 'headwise[cluster]'")


pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def serial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("serial")
    assert main(["sweep", "minimal", *SIZE, "--seeds", f"0..{RUNS - 1}", "--out", str(out), "-q"]) == 0
    return out / "minimal"


def write_cluster(folder: Path, **settings: str) -> Path:
    content = {"interface": "lo", "memory": "1GB", "time": "00:20:00", "logs": str(folder / "logs"), **settings}
    path = folder / "cluster.toml"
    path.write_text("[cluster]\n" + "".join(f'{key} = "{value}"\n' for key, value in content.items()))
    return path


@contextmanager
def sweeping(folder: Path) -> Iterator[subprocess.Popen]:
    """The command, once two jobs compute; nothing of it is left behind."""
    before = jobs()
    command = [sys.executable, "-m", "headwise", "sweep", "minimal", *SIZE, "--seeds", f"0..{RUNS - 1}"]
    command += ["--executor", "slurm", "--workers", "2", "--cluster", str(write_cluster(folder))]
    process = subprocess.Popen([*command, "--out", str(folder / "runs")], cwd=folder)
    try:
        until(lambda: len(list((folder / "runs").rglob("checkpoint-*"))) >= 2 or process.poll() is not None)
        assert process.poll() is None
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if left := jobs() - before:
            subprocess.run(["scancel", *left], check=True)
            until(lambda: not jobs() & left)


def jobs() -> set[str]:
    answer = subprocess.run(["squeue", "--noheader", "--format=%i"], capture_output=True, text=True, check=True)
    return set(answer.stdout.split())


def until(condition: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "nothing happened in time"
        time.sleep(0.2)


def worker_processes(folder: Path) -> list[psutil.Process]:
    """Processes that compute, of the jobs whose logs and keys are in this folder."""
    nannies = [p for p in psutil.process_iter(["cmdline"]) if str(folder) in " ".join(p.info["cmdline"] or [])]
    nannies = [p for p in nannies if "distributed.cli.dask_worker" in " ".join(p.info["cmdline"])]
    return [c for p in nannies for c in p.children() if "spawn_main" in " ".join(c.cmdline())]


def cancel_one(folder: Path, before: set[str]) -> None:
    subprocess.run(["scancel", min(jobs() - before)], check=True)


def cancel_all(folder: Path, before: set[str]) -> None:
    subprocess.run(["scancel", *(jobs() - before)], check=True)


def kill_worker(folder: Path, before: set[str]) -> None:
    worker_processes(folder)[0].send_signal(signal.SIGKILL)


@pytest.mark.parametrize("disturb", [cancel_one, cancel_all, kill_worker])
def test_every_run_finishes(disturb: Callable[[Path, set[str]], None], serial: Path, tmp_path: Path) -> None:
    before = jobs()
    with sweeping(tmp_path) as process:
        disturb(tmp_path, before)
        unfinished = RUNS - len(list((tmp_path / "runs").rglob("manifest.json")))
        assert unfinished >= 2
        assert process.wait(timeout=600) == 0
        until(lambda: jobs() == before)
    compare(serial, tmp_path / "runs" / "minimal")


def test_a_killed_command_is_resumed(serial: Path, tmp_path: Path) -> None:
    """Its jobs find no scheduler any more and end; the same command again finishes the rest."""
    with sweeping(tmp_path) as process:
        process.kill()
        process.wait()
    with sweeping(tmp_path) as process:
        assert process.wait(timeout=600) == 0
    compare(serial, tmp_path / "runs" / "minimal")


def test_everything_speaks_tls_on_the_interface_given(tmp_path: Path) -> None:
    before = jobs()
    with sweeping(tmp_path) as process:
        until(lambda: len(worker_processes(tmp_path)) == 2)
        job = min(jobs() - before)
        script = subprocess.run(["scontrol", "write", "batch_script", job, "-"], capture_output=True, text=True)
        assert "tls://127.0.0.1:" in script.stdout
        assert "--tls-key" in script.stdout
        workers = worker_processes(tmp_path)
        seen = [psutil.Process(process.pid), *workers, *(w.parent() for w in workers)]
        listening = {c.laddr.ip for p in seen for c in p.net_connections() if c.status == psutil.CONN_LISTEN}
        assert listening == {"127.0.0.1"}
        keys = list((tmp_path / "logs").glob(".dask-jobqueue.worker.*"))
        assert keys
        assert all(key.stat().st_mode & 0o077 == 0 for key in keys)
        assert (tmp_path / "logs").stat().st_mode & 0o077 == 0
        process.send_signal(signal.SIGKILL)


def test_what_slurm_refuses_is_one_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cluster = write_cluster(tmp_path, queue="no-such-queue")
    arguments = ["sweep", "minimal", *SIZE, "--executor", "slurm", "--cluster", str(cluster)]
    before = jobs()
    assert main([*arguments, "--out", str(tmp_path / "runs")]) == 2
    assert "Slurm refuses the job" in capsys.readouterr().err.strip().splitlines()[-1]
    assert jobs() == before


def compare(serial: Path, other: Path) -> None:
    names = sorted(os.listdir(serial))
    assert len(names) == RUNS
    assert sorted(os.listdir(other)) == names
    for name in names:
        assert_same(RunDirectory(serial / name), RunDirectory(other / name))
