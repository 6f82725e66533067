"""What the tests have workers do, in a module of its own that a new process imports at once."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from headwise.study.local_workers import stop_asked


def die_once(mark: str, number: int) -> int:
    """Kills its own process the first time, answers the second."""
    if not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), number)
        time.sleep(60)
    return os.getpid()


class Awkward(Exception):
    """Cannot be made from its own arguments, so a pickle of it cannot be read."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def complain() -> None:
    raise Awkward(1, 2)


def answer_with_a_function() -> Callable[[], None]:
    return lambda: None


def one_thread() -> tuple[str | None, int]:
    import torch

    return os.environ.get("OMP_NUM_THREADS"), torch.get_num_threads()


def wait_until_asked(mark: str) -> str:
    """Like a run: looks between steps whether it is to stop, and saves then."""
    Path(mark).touch()
    while not stop_asked():
        time.sleep(0.01)
    Path(mark + "-saved").touch()
    return "half done"


def ignore(mark: str) -> None:
    Path(mark).touch()
    time.sleep(600)
