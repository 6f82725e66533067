"""Standard output and error as they may be: closed, full, a pipe nobody reads, or in another encoding than UTF-8."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from headwise.core.errors import MachineError
from headwise.core.readable import BYTES_OR_ESCAPE, without_control


class ReaderGone(Exception):
    """Whoever read our output has had enough: nothing is wrong, and there is nothing left to do."""


def prepare_streams() -> None:
    """Give closed streams to the null device, and let every text be written, whatever the encoding."""
    with suppress(OSError):
        # A file opened under the number of a closed stream would get what libraries write to that stream.
        while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(descriptor)
    sys.stdout = sys.stdout or _null()
    sys.stderr = sys.stderr or _null()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=BYTES_OR_ESCAPE)


def put(text: str, end: str = "\n") -> None:
    """Write a result to stdout, all of it now."""
    with _reported():
        sys.stdout.write(without_control(text) + end)
        sys.stdout.flush()


def say(text: str) -> None:
    """Everything that is not data goes to stderr. If that cannot be written there is nobody to tell."""
    with suppress(OSError):
        print(without_control(text), file=sys.stderr, flush=True)


def say_over(text: str, *, end: str = "") -> None:
    """Like `say`, from the beginning of the present line and without a new one."""
    with suppress(OSError):
        print(f"\r{without_control(text)}", end=end, file=sys.stderr, flush=True)


def finish_stdout() -> None:
    """Write what is left, so that a failure is found here and not while the interpreter ends."""
    with _reported():
        sys.stdout.flush()


@contextmanager
def _reported() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        _give_up(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise ReaderGone from None
        reason = (error.strerror or str(error)).lower()
        raise MachineError(f"cannot write to stdout: {reason}") from None


def give_up_on_stderr() -> None:
    """Writing the rest when the interpreter ends would only fail again."""
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def _null() -> TextIO:
    """Where to write what nobody wants; it stays open to the end of the process."""
    return open(os.devnull, "w", encoding="utf-8")
