"""Schedulers that must be reached from other machines: who has no key runs nothing and reads nothing.

Slurm itself is not needed: its commands are replaced by scripts that start a job on this machine.
"""

from __future__ import annotations

import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import dask
import psutil
import pytest
from tests.study.test_resume import assert_same
from tests.study.test_sweep import TINY

from headwise.cli.main import main
from headwise.store import RunDirectory
from headwise.study.cluster_config import ClusterConfig
from headwise.study.executors import open_pool

KEYS = "needs cryptography: pip install 'headwise[cluster]'"


def addresses(processes: list[psutil.Process]) -> set[tuple[str, int]]:
    connections = [c for process in processes for c in process.net_connections() if c.status == psutil.CONN_LISTEN]
    return {(c.laddr.ip, c.laddr.port) for c in connections}


ATTACK = """
import os, sys
from distributed import Client
from distributed.security import Security
def touch(path): return os.system("touch " + path)
security = Security.temporary() if sys.argv[1].startswith("tls") else None
with Client(sys.argv[1], timeout=3, set_as_default=False, security=security) as client:
    client.run_on_scheduler(touch, sys.argv[2])
"""


def attack(address: str, mark: Path) -> str:
    command = [sys.executable, "-c", ATTACK, address, str(mark)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stderr


def first_line_over_http(host: str, port: int) -> bytes:
    with socket.create_connection((host, port), timeout=5) as client:
        client.settimeout(3)
        try:
            client.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
            return client.recv(100).split(b"\r\n")[0]
        except OSError:
            return b""


COMMANDS = {
    "sbatch": """
        if [ "$1" = --test-only ]; then cat >/dev/null; exit 0; fi
        cp "$1" {folder}/job.sh
        setsid bash {folder}/job.sh >{folder}/job.log 2>&1 &
        echo $! >>{folder}/jobs; echo "Submitted batch job $!"
        """,
    "squeue": "exit 0",
    "scancel": 'for job; do kill -TERM -- "-$job"; done',
}


@contextmanager
def stand_in_for_slurm(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder.mkdir()
    for name, script in COMMANDS.items():
        path = folder / name
        path.write_text("#!/usr/bin/env bash\n" + textwrap.dedent(script).format(folder=folder))
        path.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    try:
        yield
    finally:
        jobs = (folder / "jobs").read_text().split() if (folder / "jobs").exists() else []
        for job in jobs:
            subprocess.run([str(folder / "scancel"), job], capture_output=True)


def test_on_the_slurm_path_strangers_run_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("dask_jobqueue") is None:  # not imported here: that alone takes Ctrl-C over
        pytest.skip("needs dask-jobqueue: pip install 'headwise[cluster]'")
    pytest.importorskip("cryptography", reason=KEYS)
    here = psutil.Process()
    before = addresses([here])
    settings = ClusterConfig(interface="lo", memory="1GB", logs=str(tmp_path / "logs"))
    answers_to_interrupt = signal.getsignal(signal.SIGINT)
    with stand_in_for_slurm(tmp_path / "bin", monkeypatch), open_pool("slurm", workers=1, cluster=settings) as pool:
        assert pool.executor.submit(abs, -3).result(120) == 3
        assert signal.getsignal(signal.SIGINT) is answers_to_interrupt, "Ctrl-C belongs to who calls"
        ours = addresses([here]) - before
        assert len(ours) == 1
        job = psutil.Process(int((tmp_path / "bin" / "jobs").read_text().split()[0]))
        everywhere = ours | addresses([job, *job.children(recursive=True)])
        assert {host for host, _ in everywhere} == {"127.0.0.1"}
        for host, port in ours:
            assert attack(f"tcp://{host}:{port}", tmp_path / "sprung")
            assert attack(f"tls://{host}:{port}", tmp_path / "sprung")
        assert not (tmp_path / "sprung").exists()
        assert {first_line_over_http(*address) for address in everywhere} <= {b"", b"HTTP/1.1 404 Not Found"}
        keys = list((tmp_path / "logs").glob(".dask-jobqueue.worker.*"))
        assert keys
        assert all(stat.S_IMODE(key.stat().st_mode) == 0o600 for key in keys)
        assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700


def test_a_scheduler_of_ones_own_that_speaks_tls_is_used(tmp_path: Path) -> None:
    """The keys are those of dask's own settings; without them it is one line."""
    pytest.importorskip("cryptography", reason=KEYS)
    from distributed import LocalCluster
    from distributed.security import Security

    security = Security.temporary()
    keys = {"distributed.comm.tls.ca-file": security.tls_ca_file}
    keys |= {"distributed.comm.tls.client.key": security.tls_client_key}
    keys |= {"distributed.comm.tls.client.cert": security.tls_client_cert}
    command = ["sweep", "minimal", *TINY, "--seeds", "0..1", "-q"]
    with LocalCluster(
        n_workers=1, threads_per_worker=1, host="127.0.0.1", security=security, dashboard_address="127.0.0.1:0"
    ) as running:
        assert running.scheduler_address.startswith("tls://")
        with dask.config.set(keys):
            assert main([*command, "--executor", running.scheduler_address, "--out", str(tmp_path / "there")]) == 0
        assert main([*command, "--executor", running.scheduler_address, "--out", str(tmp_path / "none")]) == 2
    assert main([*command, "--out", str(tmp_path / "here")]) == 0
    for run in sorted((tmp_path / "here" / "minimal").iterdir()):
        assert_same(RunDirectory(run), RunDirectory(tmp_path / "there" / "minimal" / run.name))


@pytest.mark.parametrize("address", ["tls://127.0.0.1:9", "tcp://nobody.invalid:8786", "tcp://", "tcp://127.0.0.1:x"])
def test_addresses_at_which_nobody_answers_are_one_line(
    address: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    began = time.monotonic()
    assert main(["sweep", "minimal", *TINY, "--executor", address, "--out", str(tmp_path / "runs")]) == 2
    assert time.monotonic() - began < 60
    lines = capsys.readouterr().err.strip().splitlines()
    assert "no scheduler answers" in lines[-1]
    assert not any("Traceback" in line for line in lines)
