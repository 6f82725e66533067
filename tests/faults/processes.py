"""Commands in processes of their own, started quickly by a fork of one that has everything imported."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.cli.main import main
from tests.faults.counts import HANG_SECONDS, Found

LOOK_SECONDS = 0.5
DEFAULT_SIGNALS = (signal.SIGALRM, signal.SIGPROF, signal.SIGTERM)


def import_everything() -> None:
    """What a command would import, here and once."""
    import pyarrow.parquet  # noqa: F401
    import safetensors.numpy  # noqa: F401
    import torch
    import transformers  # noqa: F401

    import headwise.paper.reproduce
    import headwise.probe.probe_folder
    import headwise.study.collect
    import headwise.study.runner
    import headwise.study.sweep
    import headwise.view.report.pages  # noqa: F401

    torch.set_num_threads(1)


@dataclass
class Child:
    """A process of ours and where it writes."""

    pid: int
    out: Path
    err: Path
    listening: int
    """The end of a pipe that gets one byte when the command begins and one when it begins to handle SIGTERM."""
    code: int | None = None

    def send(self, number: int) -> None:
        """A signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def poll(self) -> int | None:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
                os.close(self.listening)
        return self.code

    def wait(self) -> int:
        """Until it ends; `Found` a hang when it has computed, or has not computed, for too long."""
        if not ends(self.pid, self.poll, within=3 * HANG_SECONDS):
            os.killpg(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.code = -signal.SIGKILL
            raise Found("hang", f"nothing happened for {HANG_SECONDS:.0f} s: {self.err.read_text()[-300:]}")
        assert self.code is not None
        return self.code

    def begins(self) -> None:
        """Wait until the command has begun."""
        os.read(self.listening, 1)

    def begins_to_listen(self) -> bool:
        """Wait until the command handles SIGTERM; false when it ends without ever doing so."""
        return bool(os.read(self.listening, 1))


def ends(pid: int, poll: Callable[[], int | None], *, within: float) -> bool:
    """Wait for a process; false when it has computed for longer than `within`, or not at all for too long.

    One that waits for a core on a busy machine still gets some of its time, so the clock says nothing about it.
    """
    last, since, looked = 0.0, time.monotonic(), time.monotonic()
    while poll() is None:
        time.sleep(0.01)
        if time.monotonic() - looked < LOOK_SECONDS:
            continue
        looked, used = time.monotonic(), cpu_seconds(pid)
        if used > last + 0.01:
            last, since = used, time.monotonic()
        if time.monotonic() - since > HANG_SECONDS or used > within:
            return False
    return True


def start(line: list[str], place: Path) -> Child:
    """Run a command line in a new process group."""
    place.mkdir(parents=True, exist_ok=True)
    out, err = place / "stdout", place / "stderr"
    sys.stdout.flush()
    sys.stderr.flush()
    listening, begun = os.pipe()
    pid = os.fork()
    if pid:
        os.close(begun)
        return Child(pid, out, err, listening)
    code = 1
    try:
        os.setsid()
        os.close(listening)
        for number in DEFAULT_SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for path, descriptor in ((out, 1), (err, 2)):
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
            os.dup2(opened, descriptor)
            os.close(opened)
        sys.stdout = os.fdopen(1, "w", closefd=False)
        sys.stderr = os.fdopen(2, "w", closefd=False)
        _tell_when_listening(begun)
        sys.argv = ["headwise", *line]
        code = _main(line, begun)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def _main(line: list[str], begun: int) -> int:
    os.write(begun, b"x")
    try:
        code = main(line)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    except KeyboardInterrupt:  # between the command and its caller, where only the interpreter's own end is left
        return 130
    return code


def _tell_when_listening(pipe: int) -> None:
    real, told = signal.signal, False

    def install(number: Any, handler: Any) -> Any:
        nonlocal told
        before = real(number, handler)
        if number == signal.SIGTERM and callable(handler) and not told:
            told = True
            os.write(pipe, b"x")
        return before

    signal.signal = install


def cpu_seconds(pid: int) -> float:
    """Computing time of a process and of those it started and has seen end, and of those that run."""
    total = 0.0
    for one in (pid, *descendants(pid)):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return total


def descendants(pid: int) -> list[int]:
    """Every process below this one."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [one for child in map(int, children) for one in (child, *descendants(child))]
