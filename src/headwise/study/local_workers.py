"""Worker processes on this machine: each computes one task at a time, and one that dies is replaced.

Tasks and answers pass through a pipe that only a worker and this process hold. Nothing listens, on no port and under no
name, so no other process can join, ask for anything or send code. A task whose worker died is given to the next one,
which finds on disk how far the run had come; workers end when this process is gone.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any, ParamSpec, TypeVar

from headwise.core.errors import Interrupted, RunFailed

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

LOST_WORKERS_TOLERATED = 100
STARTS_TRIED = 3
STOP_SECONDS = 30.0
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
READY = b"ready"

_stop = threading.Event()
_spawning = threading.Lock()


def stop_asked() -> bool:
    """In a worker: whether it was asked to end. A task that looks can save its state before it does."""
    return _stop.is_set()


@dataclass(frozen=True)
class _Task:
    future: Future[Any]
    content: bytes


class LocalWorkers(Executor):
    """An executor on this many processes; leave it by `stop` to end them at once, by `shutdown` when all is done."""

    def __init__(self, count: int) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._workers: list[_Worker] = []
        try:
            for _ in range(count):
                self._workers.append(_Worker(self._tasks))
        except BaseException:
            self.stop()
            raise

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        future: Future[Result] = Future()
        self._tasks.put(_Task(future, pickle.dumps((fn, args, kwargs))))
        return future

    def count_workers(self) -> int:
        """Processes that compute or wait for a task."""
        return sum(worker.present for worker in self._workers)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the workers finish what was submitted and end."""
        if cancel_futures:
            self._cancel_waiting()
        for _ in self._workers:
            self._tasks.put(None)
        if wait:
            for worker in self._workers:
                worker.join(None)

    def stop(self) -> None:
        """Ask every worker to save and end; what has not ended half a minute later is killed."""
        self._cancel_waiting()
        for worker in self._workers:
            worker.ask_to_end()
        self.shutdown(wait=False)
        until = time.monotonic() + STOP_SECONDS
        try:
            for worker in self._workers:
                worker.join(until - time.monotonic())
        finally:
            for worker in self._workers:
                worker.kill()

    def _cancel_waiting(self) -> None:
        with suppress(Empty):
            while (task := self._tasks.get_nowait()) is not None:
                task.future.cancel()


@contextmanager
def local_workers(count: int) -> Iterator[LocalWorkers]:
    """Workers that are gone when the block is left, however it is left."""
    workers = LocalWorkers(count)
    try:
        yield workers
    finally:
        workers.stop()


class _Worker:
    """One process at a time, and the thread that starts it, gives it tasks and replaces it when it has died."""

    def __init__(self, tasks: SimpleQueue[_Task | None]) -> None:
        self.present = True
        self._tasks = tasks
        self._ending = threading.Event()
        self._process: Any = None
        self._connection: Connection | None = None
        self._problem = ""
        # Here rather than in the thread, so that whoever asks for workers gets the error that makes them impossible.
        self._spawn()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def join(self, seconds: float | None) -> None:
        """Wait for the process and its thread to end."""
        self._thread.join(None if seconds is None else max(0.0, seconds))

    def ask_to_end(self) -> None:
        """Start no further process; the present one ends now, or when its task has seen `stop_asked`."""
        self._ending.set()
        with _spawning:
            if self._process is not None:
                self._process.terminate()

    def kill(self) -> None:
        """End the process at once."""
        self._ending.set()
        with _spawning:
            if self._process is not None:
                self._process.kill()
        self._thread.join()

    def _serve(self) -> None:
        self._start()
        while (task := self._tasks.get()) is not None:
            if task.future.set_running_or_notify_cancel():
                self._compute(task.future, task.content)
        self._leave()
        self.present = False

    def _compute(self, future: Future[Any], content: bytes) -> None:
        for _ in range(LOST_WORKERS_TOLERATED):
            connection = self._connection or self._start()
            if connection is None:
                stopped = Interrupted("stopped before it was finished; the same command resumes it")
                future.set_exception(RunFailed(self._problem) if self._problem else stopped)
                return
            try:
                connection.send_bytes(content)
                succeeded, value = pickle.loads(connection.recv_bytes())
            except (EOFError, OSError):
                self._leave()
                continue
            future.set_result(value) if succeeded else future.set_exception(value)
            return
        future.set_exception(RunFailed(f"its worker process died {LOST_WORKERS_TOLERATED} times"))

    def _start(self) -> Connection | None:
        """The pipe to a new process; `None` when workers are to end, or when several ended before they were ready."""
        reason = ""
        for _ in range(STARTS_TRIED if not self._problem else 0):
            try:
                connection = self._connection or self._spawn()
                if connection is None or connection.recv_bytes() == READY:
                    return connection
            except EOFError:
                self._leave()
                reason = "a script that starts workers needs `if __name__ == '__main__':` around what it does"
            except OSError as error:
                self._leave()
                reason = error.strerror or str(error)
                self._ending.wait(1.0)
        if not self._ending.is_set():
            self._problem = self._problem or f"worker processes end as soon as they start: {reason}"
            self.present = False
        return None

    def _spawn(self) -> Connection | None:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe()
        with _spawning, _environment(ONE_THREAD), there:
            if self._ending.is_set():
                here.close()
                return None
            process = context.Process(target=_work, args=(there,), daemon=True)
            process.start()
            self._process, self._connection = process, here
        return here

    def _leave(self) -> None:
        """Close the pipe, which ends a worker that waits for a task, and forget the process once it has ended."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join()
        with _spawning:
            self._process, self._connection = None, None


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Variables that a process started in this block inherits; numerical libraries read them when first imported."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _work(tasks: Connection) -> None:
    """The whole life of a worker process."""
    busy = False

    def end(number: int, frame: FrameType | None) -> None:
        _stop.set()
        if not busy:
            raise SystemExit(0)

    # Ctrl-C reaches every process of a terminal; the one that started the workers decides what becomes of them.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    tasks.send_bytes(READY)
    with suppress(EOFError, OSError):
        while True:
            content = tasks.recv_bytes()
            busy = True
            answer = _computed(content)
            busy = False
            # Stopped half way, it is as if the worker had died: the task is given to another one, if any is left.
            if _stop.is_set():
                return
            tasks.send_bytes(answer)


def _computed(content: bytes) -> bytes:
    try:
        function, args, kwargs = pickle.loads(content)
        return pickle.dumps((True, function(*args, **kwargs)))
    except Exception as error:
        try:
            whole = pickle.dumps((False, error))
            pickle.loads(whole)
        except Exception:
            return pickle.dumps((False, RunFailed(f"{type(error).__name__}: {error}")))
        return whole


def _end_with_parent() -> None:
    """A killed controller must leave no run locked behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(75)
