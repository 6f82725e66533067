"""One writer per run: a lock of the operating system, which vanishes with the process that held it.

The lock file stays after release; only the lock on it means something. Who holds it is told by a second file, since the
lock file itself may be touched by a process that tries and fails.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from headwise.core.errors import ConfigError, RunBusy
from headwise.core.system_errors import machine_error, os_errors_reported
from headwise.store.files import make_directory

if TYPE_CHECKING:
    from filelock import BaseFileLock

LOCK_NAME = ".lock"
HOLDER_NAME = ".lock-holder.json"

PATIENCE_SECONDS = 0.2
"""Long enough to outlast another process's `is_locked`, which takes microseconds; it never waits for a run to end."""


class RunLock:
    """The right to write one run directory, as a context manager; `RunBusy` when another process has it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock: BaseFileLock | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._lock is not None

    def __enter__(self) -> RunLock:
        if self.held:
            raise RuntimeError(f"{self.directory} is already locked by this object")
        make_directory(self.directory)
        self._lock = _acquired(self.directory)
        with suppress(OSError):  # who holds the lock is a courtesy; a full disk shows at the first file that matters
            holder = {"pid": os.getpid(), "host": socket.gethostname()}
            (self.directory / HOLDER_NAME).write_text(json.dumps(holder))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._lock is not None:
            with suppress(OSError):
                (self.directory / HOLDER_NAME).unlink()
            self._lock.release()
            self._lock = None


def is_locked(directory: Path) -> bool:
    """Whether some process is writing this run now. Needs no leave to write and changes nothing."""
    path = directory / LOCK_NAME
    if sys.platform == "win32":
        from filelock import FileLock, Timeout

        if not path.exists():
            return False
        probe = FileLock(path)
        try:
            probe.acquire(timeout=0)
        except Timeout:
            return True
        probe.release()
        return False
    import fcntl

    try:
        descriptor = os.open(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return False
    except OSError as error:
        raise machine_error("read", path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _acquired(directory: Path) -> BaseFileLock:
    from filelock import FileLock, SoftFileLock, Timeout

    no_locks = (
        f"cannot write {directory}: its file system has no locks, so two runs could collide; choose another --out"
    )
    lock = FileLock(directory / LOCK_NAME, thread_local=False)
    with os_errors_reported(directory):
        try:
            lock.acquire(timeout=PATIENCE_SECONDS, poll_interval=PATIENCE_SECONDS / 10)
        except Timeout:
            raise RunBusy(f"{directory} is being written by {_holder(directory)}; wait until it ends") from None
        except NotImplementedError:
            raise ConfigError(no_locks) from None
    if isinstance(lock, SoftFileLock):  # what the library falls back to; it would outlive a killed process
        lock.release()
        raise ConfigError(no_locks)
    return lock


def _holder(directory: Path) -> str:
    try:
        holder = json.loads((directory / HOLDER_NAME).read_text())
        return f"process {holder['pid']} on {holder['host']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
