"""What else ran on the machine while something was measured: the cores that other processes kept busy."""

from __future__ import annotations

import os
import time
from pathlib import Path

COUNTERS = Path("/proc/stat")
IDLE = (3, 4)
"""Columns of the kernel's counters that are no work: idle, and waiting for a disk."""
GUEST = 8
"""From here on columns repeat what is in others."""


class Others:
    """Counts from its making on."""

    def __init__(self) -> None:
        self._start = _now()

    def cores(self) -> float | None:
        """Cores busy with other processes since the start, on average; `None` where the system does not tell."""
        if self._start is None or (end := _now()) is None:
            return None
        seconds, busy, own = (b - a for a, b in zip(self._start, end, strict=True))
        return max(0.0, (busy - own) / seconds) if seconds > 0 else None


def _now() -> tuple[float, float, float] | None:
    """Elapsed seconds, seconds of work of all cores, and seconds of this process and of children that have ended."""
    if not COUNTERS.exists():
        return None
    counted = [int(column) for column in COUNTERS.read_text().split("\n", 1)[0].split()[1:]]
    ticks = sum(count for column, count in enumerate(counted[:GUEST]) if column not in IDLE)
    return time.perf_counter(), ticks / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])
