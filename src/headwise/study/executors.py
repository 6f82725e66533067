"""Where runs are computed: in this process, on local workers, on a Slurm cluster or on a running dask scheduler.

All are `concurrent.futures` executors. Workers survive being killed: a task whose worker died is given to a new one,
which finds on disk how far the run had come. Local workers are reached through pipes and nothing listens; a scheduler
of ours exists on the Slurm path alone, and speaks TLS. A scheduler that the user names is trusted: whoever controls it
can run code in this process, because dask's answers are pickles.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from headwise.core.errors import ConfigError
from headwise.study.cluster_config import ClusterConfig
from headwise.study.local_workers import local_workers
from headwise.study.slurm import slurm_client

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Connected = tuple[Any, Callable[[], int]]
"""A client of dask and how many workers it has or may still expect."""

LOST_WORKERS_TOLERATED = 1000
CONNECT_SECONDS = 10


class InProcess(Executor):
    """Computes each task when it is submitted; one worker needs no more."""

    def submit(
        self, fn: Callable[Parameters, Result], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Result]:
        future: Future[Result] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True)
class Pool:
    """An executor and a way to ask how many workers it has, or may still expect, at this moment."""

    executor: Executor
    count_workers: Callable[[], int]


@contextmanager
def open_pool(where: str, *, workers: int, cluster: ClusterConfig | None = None) -> Iterator[Pool]:
    """`local`, `slurm` or the address of a running scheduler, `tcp://HOST:PORT` or `tls://HOST:PORT`."""
    if where == "local" and workers <= 1:
        yield Pool(InProcess(), lambda: 1)
    elif where == "local":
        with local_workers(workers) as pool:
            yield Pool(pool, pool.count_workers)
    elif where == "slurm":
        with _settings(), slurm_client(workers, cluster or ClusterConfig()) as connected:
            yield _dask_pool(connected)
    elif where.startswith(("tcp://", "tls://")):
        with _settings(), _running(where) as connected:
            yield _dask_pool(connected)
    else:
        raise ConfigError(f"--executor {where}: take local, slurm, tcp://HOST:PORT or tls://HOST:PORT")


def _dask_pool(connected: Connected) -> Pool:
    client, count_workers = connected
    return Pool(client.get_executor(retries=LOST_WORKERS_TOLERATED), count_workers)


@contextmanager
def _settings() -> Iterator[None]:
    import dask
    import distributed  # noqa: F401  (its defaults must be in place before some of them are changed for a while)

    settings = {
        # Only its directory decides whether a run ends, so losing a worker is never the task's fault.
        "distributed.scheduler.allowed-failures": LOST_WORKERS_TOLERATED,
        # Pages that any user of this machine could read; one of them passes requests on to other addresses.
        "distributed.scheduler.http.routes": [],
        "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    }
    # What dask logs when a scheduler is gone is a traceback per attempt; here that is one line at the end.
    logger = logging.getLogger("distributed.client")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with dask.config.set(settings):
            yield
    finally:
        logger.setLevel(level)


@contextmanager
def _running(address: str) -> Iterator[Connected]:
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception as error:  # what dask makes of an address, of keys or of its settings is open-ended
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"--executor {address}: no scheduler answers there ({reason}); start one or use local"
        ) from None
    with client:
        yield client, lambda: len(client.scheduler_info(n_workers=-1)["workers"])
