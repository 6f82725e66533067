"""Where runs are computed: in this process, or on local dask workers. Both are `concurrent.futures` executors.

Dask's workers survive being killed: a task whose worker died is given to a new one, which finds on disk how far the
run had come. The scheduler listens on loopback only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


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


@contextmanager
def open_executor(workers: int) -> Iterator[Executor]:
    """An executor with this many workers on this machine; each computes on one thread."""
    if workers <= 1:
        yield InProcess()
        return
    with local_cluster(workers) as client:
        # A run may be given to several workers in turn as they are killed; only its directory decides whether it ends.
        yield client.get_executor(retries=100)


@contextmanager
def local_cluster(workers: int) -> Iterator[Any]:
    """A dask cluster of worker processes bound to loopback; yields its client."""
    import dask
    from distributed import Client, LocalCluster

    settings = {
        "distributed.scheduler.allowed-failures": 100,
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        "distributed.worker.daemon": True,
        "distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS": "1",
        "distributed.nanny.pre-spawn-environ.MKL_NUM_THREADS": "1",
        "distributed.comm.timeouts.connect": "60s",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs="CRITICAL",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client
