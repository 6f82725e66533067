"""Worker processes end with what they work for."""

from __future__ import annotations

import multiprocessing
import os
import time
from concurrent.futures import ProcessPoolExecutor

import pytest

from headwise.core.errors import MachineError
from headwise.flow.workers import process_pool


def test_an_error_ends_the_workers_at_once() -> None:
    before = set(multiprocessing.active_children())
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), process_pool(2) as pool:
        interrupted_at_work(pool)
    assert time.monotonic() - began < 60
    assert set(multiprocessing.active_children()) <= before


def interrupted_at_work(pool: ProcessPoolExecutor) -> None:
    futures = [pool.submit(time.sleep, seconds) for seconds in (0, 300, 300, 300)]
    futures[0].result()
    raise KeyboardInterrupt


def test_a_worker_that_is_killed_is_one_line() -> None:
    with pytest.raises(MachineError, match="ended from outside, perhaps for want of memory"), process_pool(1) as pool:
        pool.submit(os._exit, 9).result()
