"""Ctrl-C and SIGTERM: a run stops at its next step with its state saved."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from headwise.cli.command import say
from headwise.core.errors import Interrupted


class _Stop:
    """Whether a signal asked the run to stop, and which."""

    received: int | None = None

    def asked(self) -> bool:
        return self.received is not None


@contextmanager
def stop_on_signal() -> Iterator[_Stop]:
    """The first Ctrl-C or SIGTERM stops a run at its next step with its state saved; a second Ctrl-C at once."""
    stop = _Stop()

    def receive(number: int, frame: FrameType | None) -> None:
        if stop.asked() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.received = number

    before = {number: signal.signal(number, receive) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    except Interrupted as error:
        if stop.received == signal.SIGINT:
            say(f"headwise: {error}")
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
