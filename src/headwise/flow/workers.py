"""A process pool whose workers use one thread each: parallelism is over flows, not inside them."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes that see one BLAS thread.

    A BLAS library reads its environment once, when it is loaded, so the variables must be there before a worker starts
    and cannot be set from within. This process has loaded its own already; its environment is put back afterwards.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
