"""The kernel held to an instruction level below the processor's best, to measure how it does there."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from headwise.bench.cases import Name, Sizes, contenders
from headwise.bench.timing import Clock, interleaved
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


def level_seconds(case: Name, sizes: Sizes, *, repeats: int, clock: Clock) -> dict[str, float]:
    """Median seconds of the kernel at every level up to the one in use, taking turns."""
    run = contenders(case, sizes)["kernel"]

    def at(level: str) -> Callable[[], object]:
        def limited() -> object:
            with limited_to(level):
                return run()

        return limited

    levels = kernel.LEVELS[: kernel.LEVELS.index(kernel.level()) + 1]
    seconds = interleaved({level: at(level) for level in levels}, repeats=repeats, clock=clock)
    return {level: statistics.median(times) for level, times in seconds.items()}
