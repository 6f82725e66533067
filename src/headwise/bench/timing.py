"""Interleaved timing: every contender once, then every contender again, so that a busy moment hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

Clock = Literal["wall", "cpu"]
Key = TypeVar("Key", bound=str)


def interleaved(
    contenders: Mapping[Key, Callable[[], object]], *, repeats: int, clock: Clock = "wall", warm: bool = True
) -> dict[Key, list[float]]:
    """Seconds of each contender in each repeat; `warm` has one run each before them that does not count."""
    now = time.perf_counter if clock == "wall" else time.process_time
    seconds: dict[Key, list[float]] = {name: [] for name in contenders}
    for repeat in range(0 if warm else 1, repeats + 1):
        for name, run in contenders.items():
            start = now()
            run()
            if repeat:
                seconds[name].append(now() - start)
    return seconds


def ratio(slow: list[float], fast: list[float]) -> float:
    """How many times faster: the ratio of medians."""
    return statistics.median(slow) / statistics.median(fast)


def spread(slow: list[float], fast: list[float]) -> list[float]:
    """The smallest and largest ratio within one repeat."""
    ratios = [a / b for a, b in zip(slow, fast, strict=True)]
    return [min(ratios), max(ratios)]
