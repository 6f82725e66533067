"""What SIGTERM and Ctrl-C do: a command that can save stops between two steps, any other ends where it is.

Either way no file is left half written, the exit code is 75 for SIGTERM and 130 for Ctrl-C, and the same command goes
on or starts again.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from headwise.cli.streams import say
from headwise.core.errors import Interrupted


class Terminated(BaseException):
    """SIGTERM came while nothing had to be saved. Like KeyboardInterrupt it passes by whatever catches errors."""


@contextmanager
def end_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise `Terminated`, so that temporary files are removed and worker processes ended."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def receive(number: int, frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, receive)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def stop_on_signal() -> Iterator[Callable[[], bool]]:
    """A function that says whether to stop: after the first Ctrl-C or SIGTERM. A second Ctrl-C ends at once."""
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        if received and number == signal.SIGINT:
            raise KeyboardInterrupt
        received.append(number)

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(received)
    except Interrupted as error:
        if received[:1] == [signal.SIGINT]:
            say(f"headwise: {error}")
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
