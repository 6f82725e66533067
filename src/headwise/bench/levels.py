"""The kernel held to an instruction level below the processor's best, to measure how it does there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headwise.core.errors import ConfigError
from headwise.model import kernel
from headwise.model.kernel_sources import LIBRARIES


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
    libraries = [kernel.library(which) for which in LIBRARIES if kernel.missing(which) is None]
    wanted = kernel.LEVELS.index(level)
    for library in libraries:
        library.headwise_limit(wanted)
    try:
        if kernel.level() != level:
            raise ConfigError(f"--level {level}: this processor has {kernel.level()} at best")
        yield
    finally:
        for library in libraries:
            library.headwise_limit(len(kernel.LEVELS))
