"""Workers on this machine: nobody else can reach them, and a task outlives the process that computes it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from tests.study import worker_tasks
from tests.study.test_sweep import TINY, workers_of

from headwise.core.errors import RunFailed
from headwise.store import RunDirectory
from headwise.study import local_workers
from headwise.study.executors import open_pool

Address = tuple[str, int]
SECONDS = 240
"""Long enough for a new process on a machine with much else to do."""


def listening() -> set[Address]:
    """Where this process and all below it can be connected to, from the system's table."""
    here = psutil.Process()
    found: set[Address] = set()
    for process in (here, *here.children(recursive=True)):
        for connection in process.net_connections(kind="all"):
            if connection.family == socket.AF_UNIX and connection.laddr:
                found.add((str(connection.laddr), 0))
            elif connection.status == psutil.CONN_LISTEN:
                found.add((connection.laddr.ip, connection.laddr.port))
    return found


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


ATTACK = """
import os, sys
from distributed import Client
def touch(path): return os.system("touch " + path)
with Client(sys.argv[1], timeout=5, set_as_default=False) as client:
    client.run_on_scheduler(touch, sys.argv[2])
"""


def test_no_other_process_reaches_the_workers(tmp_path: Path) -> None:
    """A stranger on this machine who speaks dask's protocol tries every address there is."""
    before, dashboard = listening(), answers(8787)
    with open_pool("local", workers=2) as pool:
        assert pool.executor.submit(abs, -3).result() == 3
        found = listening() - before
        for host, port in found:
            attack = [sys.executable, "-c", ATTACK, f"tcp://{host}:{port}", str(tmp_path / "sprung")]
            subprocess.run(attack, capture_output=True, timeout=60)
        assert not (tmp_path / "sprung").exists()
        assert found == set()
        assert answers(8787) == dashboard


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_task_whose_worker_died_is_given_to_the_next(tmp_path: Path, number: int) -> None:
    with open_pool("local", workers=2) as pool:
        tasks = [pool.executor.submit(worker_tasks.die_once, str(tmp_path / str(i)), number) for i in range(2)]
        assert all(task.result(SECONDS) != os.getpid() for task in tasks)
        assert pool.count_workers() == 2


def test_a_task_that_kills_every_worker_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_workers, "LOST_WORKERS_TOLERATED", 3)
    with open_pool("local", workers=2) as pool:
        assert isinstance(pool.executor.submit(os._exit, 9).exception(SECONDS), RunFailed)
        assert pool.executor.submit(abs, -1).result(SECONDS) == 1


def test_errors_and_answers_that_cannot_be_sent_are_told() -> None:
    with open_pool("local", workers=2) as pool:
        with pytest.raises(ZeroDivisionError):
            pool.executor.submit(divmod, 1, 0).result(SECONDS)
        with pytest.raises(RunFailed, match="Awkward: 1 and 2"):
            pool.executor.submit(worker_tasks.complain).result(SECONDS)
        with pytest.raises(Exception, match="pickle"):
            pool.executor.submit(worker_tasks.answer_with_a_function).result(SECONDS)
        assert pool.executor.submit(abs, -1).result(SECONDS) == 1


def test_a_worker_uses_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with open_pool("local", workers=2) as pool:
        assert pool.executor.submit(worker_tasks.one_thread).result(SECONDS) == ("1", 1)
    assert os.environ["OMP_NUM_THREADS"] == "2"


def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    """Spawned processes import the script that started them; one that starts workers again must not do so forever."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        from headwise.study.executors import open_pool
        with open_pool("local", workers=2) as pool:
            print(pool.executor.submit(abs, -1).exception(120))
        """)
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert "needs `if __name__ == '__main__':`" in done.stdout


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_leaving_lets_a_task_save_and_kills_what_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_workers, "STOP_SECONDS", 1.0)
    with open_pool("local", workers=2) as pool:
        pool.executor.submit(worker_tasks.wait_until_asked, str(tmp_path / "good"))
        pool.executor.submit(worker_tasks.ignore, str(tmp_path / "bad"))
        waiting = pool.executor.submit(abs, -1)
        until(lambda: (tmp_path / "good").exists() and (tmp_path / "bad").exists())
    assert (tmp_path / "good-saved").exists()
    assert waiting.cancelled()
    assert workers_of(os.getpid()) == []


def test_a_worker_that_is_asked_to_end_saves_and_its_run_goes_on(tmp_path: Path) -> None:
    """SIGTERM to a worker alone, as a batch system sends it: the run goes on from the very step it was at."""
    command = [sys.executable, "-m", "headwise", "sweep", "minimal", *TINY[:10], "--train.steps", "600", "-q"]
    command += ["--train.checkpoint_every", "100000", "--seeds", "0..1", "--workers", "2", "--out", str(tmp_path)]
    controller = subprocess.Popen(command)
    until(lambda: any(path.stat().st_size for path in tmp_path.rglob("log.jsonl")))
    for worker in workers_of(controller.pid):
        worker.send_signal(signal.SIGTERM)
    assert controller.wait(240) == 0
    logs = [RunDirectory(path.parent).read_log() for path in tmp_path.rglob("manifest.json")]
    assert len(logs) == 2
    stops = [(a["step"], b["step"]) for log in logs for a, b in pairwise(log) if a["event"] == "interrupted"]
    assert stops
    assert all(stopped == resumed < 600 for stopped, resumed in stops)
    assert all(log[-1]["event"] == "finished" for log in logs)


def test_workers_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import os, time
        from headwise.study.executors import open_pool
        if __name__ == "__main__":
            with open_pool("local", workers=2) as pool:
                tasks = [pool.executor.submit(time.sleep, 600) for _ in range(2)]
                print(pool.executor.submit(abs, -1), flush=True)
                time.sleep(600)
        """)
    )
    controller = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE)
    assert controller.stdout is not None
    controller.stdout.readline()
    until(lambda: len(workers_of(controller.pid)) == 2)
    workers = workers_of(controller.pid)
    controller.kill()
    controller.communicate()
    assert psutil.wait_procs(workers, timeout=20)[1] == []
