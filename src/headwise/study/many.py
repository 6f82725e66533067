"""Many runs: each finds on disk what is already done, a failed one does not stop the rest.

The run directory is the truth. A task returns a small status; whether a run is complete is read from its directory, so
a lost answer loses nothing. When all workers have been gone for a while the cluster is built anew.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from headwise.core.config import validated
from headwise.core.errors import CorruptData, HeadwiseError, Interrupted, MachineError, RunBusy
from headwise.store import RunDirectory, run_condition
from headwise.study.config import RunConfig, config_hash, window_config
from headwise.study.executors import InProcess, Pool
from headwise.study.local_workers import stop_asked as worker_stop_asked
from headwise.study.run_location import run_identity, run_location

Ended = Literal["finished", "diverged", "failed"]

PATIENCE_SECONDS = 120.0
REBUILDS = 3
BUSY_SECONDS = 600.0
LOOK_SECONDS = 0.5
"""How often it is looked whether to stop and whether there are workers."""

StopAsked = Callable[[], bool]


def never() -> bool:
    """For callers that let every run go to its end."""
    return False


@dataclass(frozen=True)
class Outcome:
    """How one run ended."""

    run: Path
    status: Ended
    reason: str = ""


class NoWorkers(Exception):
    """Work is left and nobody has been there to do it for too long."""


def with_prerequisites(configs: Iterable[RunConfig]) -> list[RunConfig]:
    """Every run once, restricted-context models before the runs that are compared with them."""
    wanted = list(configs)
    first = [window_config(config, c) for config in wanted for c in config.measure.windows]
    seen: dict[tuple[str, str, int], RunConfig] = {}
    for config in [*first, *wanted]:
        seen.setdefault((config.experiment, config_hash(config), config.seed), config)
    return list(seen.values())


def missing(configs: Sequence[RunConfig], out: Path | str) -> list[RunConfig]:
    """Those that have not ended yet; a run whose place is taken by another one is among them."""
    return [config for config in configs if not _has_ended(config, out)]


def _has_ended(config: RunConfig, out: Path | str) -> bool:
    run = RunDirectory(run_location(config, out))
    if not run.manifest_path.exists():
        return False
    try:
        run.require_same(run_identity(config))
    except CorruptData:
        return False
    return True


def run_on_pool(
    configs: Sequence[RunConfig],
    out: Path | str,
    *,
    pool: Callable[[], AbstractContextManager[Pool]],
    argv: list[str],
    ended: Callable[[Outcome], None] = lambda outcome: None,
    notify: Callable[[str], None] = lambda line: None,
    stop_asked: StopAsked = never,
    patience: float = PATIENCE_SECONDS,
) -> list[Outcome]:
    """`run_all` on the workers of a pool; a pool that loses all of them is opened again, up to three times.

    After that `Interrupted` is raised, as it is once `stop_asked` returns true, and the same call later computes what
    is left. Leaving the pool is what lets its workers save.
    """
    for rebuild in range(REBUILDS + 1):
        try:
            with pool() as opened:
                return run_all(
                    configs,
                    out,
                    executor=opened.executor,
                    argv=argv,
                    ended=ended,
                    count_workers=opened.count_workers,
                    stop_asked=stop_asked,
                    patience=patience,
                )
        except NoWorkers:
            if rebuild < REBUILDS:
                notify(f"no worker for {patience:.0f} s with work left; building the cluster anew ({rebuild + 1})")
    left = len(missing(with_prerequisites(configs), out))
    raise Interrupted(
        f"the cluster lost all its workers {REBUILDS + 1} times with {left} runs left; the same command resumes"
    )


def run_all(
    configs: Sequence[RunConfig],
    out: Path | str,
    *,
    executor: Executor,
    argv: list[str],
    ended: Callable[[Outcome], None] = lambda outcome: None,
    count_workers: Callable[[], int] = lambda: 1,
    stop_asked: StopAsked = never,
    patience: float = PATIENCE_SECONDS,
) -> list[Outcome]:
    """Compute what is missing, prerequisites first; an outcome for every run, in the order given.

    Once `stop_asked` returns true, `Interrupted` is raised.
    """
    outcomes: dict[Path, Outcome] = {}

    def check_stop() -> None:
        if stop_asked():
            raise _stopped(configs, out)

    def end(path: Path, future: Future[str]) -> None:
        if future.cancelled():  # nobody here cancels while waiting: a lost scheduler takes its tasks with it
            left = len(missing(with_prerequisites(configs), out))
            raise MachineError(f"the scheduler of the cluster is gone with {left} runs left; the same command goes on")
        failure = future.exception()
        if isinstance(failure, Interrupted):
            raise _stopped(configs, out)
        outcomes[path] = _outcome(path, future.result() if failure is None else f"the worker failed: {failure}")
        ended(outcomes[path])

    for layer in _layers(configs):
        waiting: dict[Future[str], Path] = {}
        for config in missing(layer, out):
            check_stop()
            document, path = config.model_dump(mode="json"), run_location(config, out)
            # A process of its own is asked to stop by a signal; a run in this one has to be told.
            here = {"stop_asked": stop_asked} if isinstance(executor, InProcess) else {}
            future = executor.submit(compute_one, document, str(Path(out).absolute()), argv, **here)
            # In this process a run is over when it has been submitted, and is reported before the next one begins.
            if future.done():
                end(path, future)
            else:
                waiting[future] = path
        for future in _as_ended(set(waiting), count_workers=count_workers, patience=patience, check_stop=check_stop):
            end(waiting[future], future)
    return [outcomes.get(run_location(config, out)) or _outcome(run_location(config, out), "") for config in configs]


def compute_one(document: dict[str, Any], out: str, argv: list[str], stop_asked: StopAsked = worker_stop_asked) -> str:
    """One run in a worker; the reason of a failure, or nothing. `Interrupted` is raised when it was asked to stop.

    A run that somebody else is writing is waited for: the workers of a killed controller take a moment to go.
    """
    from headwise.study.runner import execute

    _leave_with_parent()
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            execute(validated(RunConfig, document), out, argv=argv, stop_asked=stop_asked)
        except RunBusy as error:
            if stop_asked():
                raise Interrupted(str(error)) from None
            if time.monotonic() > until:
                return " ".join(str(error).split())
            time.sleep(0.5)
            continue
        except Interrupted:
            raise
        except HeadwiseError as error:
            return " ".join(str(error).split())
        return ""


def _as_ended(
    waiting: set[Future[str]],
    *,
    count_workers: Callable[[], int],
    patience: float,
    check_stop: Callable[[], None],
) -> Iterator[Future[str]]:
    seen = time.monotonic()
    while waiting:
        done, waiting = wait(waiting, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        yield from done
        if waiting:
            check_stop()
        if done or not waiting or count_workers() > 0:
            seen = time.monotonic()
        elif time.monotonic() - seen > patience:
            raise NoWorkers


def _stopped(configs: Sequence[RunConfig], out: Path | str) -> Interrupted:
    whole = with_prerequisites(configs)
    return Interrupted(f"stopped with {len(missing(whole, out))} of {len(whole)} runs left; the same command resumes")


def _layers(configs: Sequence[RunConfig]) -> Iterator[list[RunConfig]]:
    """Runs that can be computed side by side: first the restricted-context models, then the rest."""
    whole = with_prerequisites(configs)
    yield [config for config in whole if config.model.window is not None]
    yield [config for config in whole if config.model.window is None]


def _outcome(path: Path, problem: str) -> Outcome:
    status, damage = run_condition(path) if path.is_dir() else ("interrupted", "")
    if status == "finished":
        return Outcome(path, "finished")
    if status == "diverged":
        return Outcome(path, "diverged", "the loss became infinite")
    return Outcome(path, "failed", problem or damage or f"the run is {status}")


_watching = threading.Event()


def _leave_with_parent() -> None:
    """End this worker process when its parent is gone, so that a killed controller leaves no run locked behind."""
    if _watching.is_set() or threading.current_thread() is threading.main_thread():
        return
    _watching.set()
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(75)

    threading.Thread(target=watch, daemon=True).start()
