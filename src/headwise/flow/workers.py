"""A process pool whose workers use one thread each: parallelism is over flows, not inside them.

What ends this process or its work ends the workers too, at once: they hold nothing that must be saved.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from headwise.core.errors import MachineError

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def process_pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes that see one BLAS thread.

    A BLAS library reads its environment once, when it is loaded, so the variables must be there before a worker starts
    and cannot be set from within. This process has loaded its own already; its environment is put back afterwards.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    others = set(multiprocessing.active_children())
    try:
        with ProcessPoolExecutor(
            workers, mp_context=multiprocessing.get_context("spawn"), initializer=_leave_interrupts_to_parent
        ) as pool:
            try:
                yield pool
            except BaseException:
                for worker in set(multiprocessing.active_children()) - others:
                    worker.kill()
                # The pool's own thread collects the ended workers; waiting for them here as well would race with it.
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    except BrokenProcessPool:
        raise MachineError(
            "a worker process was ended from outside, perhaps for want of memory; take fewer --workers"
        ) from None
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _leave_interrupts_to_parent() -> None:
    """Ctrl-C reaches every process of a terminal; the one that started the workers ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
