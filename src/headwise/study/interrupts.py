"""Who answers to Ctrl-C: a training called from Python stops with all saved, and no library takes the key over."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from headwise.core.errors import Interrupted


@contextmanager
def stop_on_interrupt(stop_asked: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
    """Whether to stop: because `stop_asked` says so, or after a Ctrl-C. A second Ctrl-C ends at once.

    Whoever pressed it gets a KeyboardInterrupt as ever, once the state is saved. Where somebody else handles the
    signal, or in a thread, nothing is changed.
    """
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield stop_asked
        return
    pressed = False

    def receive(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    signal.signal(signal.SIGINT, receive)
    try:
        yield lambda: pressed or stop_asked()
        if pressed:  # too late to stop anything
            raise KeyboardInterrupt
    except Interrupted as error:
        if pressed:
            raise KeyboardInterrupt(str(error)) from None
        raise
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def keep_interrupt_handler() -> Iterator[None]:
    """Give Ctrl-C back to whom it belonged: some libraries take it when they are imported, to end the process."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, before)
