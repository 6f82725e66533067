"""The kernel held to an instruction level below the processor's best, to measure how it does there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwise.core.errors import ConfigError
from headwise.model import kernel


@contextmanager
def limited_to(level: str | None) -> Iterator[None]:
    """The kernel at one instruction level; `None` leaves it at the best."""
    if level is None:
        yield
        return
    if level not in kernel.LEVELS:
        raise ConfigError(f"--level {level} is not one of {', '.join(kernel.LEVELS)}")
    if (problem := kernel.missing()) is not None:
        raise ConfigError(f"--level {level} needs the kernel: {problem}")
    library = kernel.library()
    library.headwise_limit(kernel.LEVELS.index(level))
    try:
        if kernel.level() != level:
            raise ConfigError(f"--level {level}: this processor has {kernel.level()} at best")
        yield
    finally:
        library.headwise_limit(len(kernel.LEVELS))
