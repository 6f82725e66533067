"""Where runs are computed: in this process, on local dask workers, on a Slurm cluster or on a running scheduler.

All are `concurrent.futures` executors. Dask's workers survive being killed: a task whose worker died is given to a new
one, which finds on disk how far the run had come. A scheduler of ours listens on loopback only, unless it must be
reached from other machines; then it speaks TLS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from headwise.core.errors import ConfigError
from headwise.study.cluster_config import ClusterConfig
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
    """`local`, `slurm` or the address of a running scheduler, `tcp://HOST:PORT`."""
    if where == "local" and workers <= 1:
        yield Pool(InProcess(), lambda: 1)
        return
    if where == "local":
        opened = _local(workers)
    elif where == "slurm":
        opened = slurm_client(workers, cluster or ClusterConfig())
    elif where.startswith(("tcp://", "tls://")):
        opened = _running(where)
    else:
        raise ConfigError(f"--executor {where}: take local, slurm or tcp://HOST:PORT")
    with _settings(), opened as (client, count_workers):
        yield Pool(client.get_executor(retries=LOST_WORKERS_TOLERATED), count_workers)


@contextmanager
def _settings() -> Iterator[None]:
    import dask
    import distributed  # noqa: F401  (its defaults must be in place before some of them are changed for a while)

    settings = {
        # Only its directory decides whether a run ends, so losing a worker is never the task's fault.
        "distributed.scheduler.allowed-failures": LOST_WORKERS_TOLERATED,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        # The whole table, without dask's own MALLOC_TRIM_THRESHOLD_: with it large arrays are mapped from the system
        # and given back at every step (7.9 s of system time instead of 3.0 s in a sweep of four runs of 80 steps).
        "distributed.nanny.pre-spawn-environ": {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"},
        "distributed.worker.profile.enabled": False,
        "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    }
    with dask.config.set(settings):
        yield


@contextmanager
def _local(workers: int) -> Iterator[Connected]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs="CRITICAL",
        ) as local,
        Client(local) as client,
    ):
        yield client, lambda: len(client.scheduler_info(n_workers=-1)["workers"])


@contextmanager
def _running(address: str) -> Iterator[Connected]:
    from distributed import Client

    try:
        client = Client(address, timeout=CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(
            f"--executor {address}: no scheduler answers there ({reason}); start one or use local"
        ) from None
    with client:
        yield client, lambda: len(client.scheduler_info(n_workers=-1)["workers"])
