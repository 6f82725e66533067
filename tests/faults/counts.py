"""What a part of the battery counts, and how one case is tried."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

HANG_SECONDS = 20.0
"""Computing time after which one case counts as a hang."""
IDLE_SECONDS = 300.0
"""The same on the clock, where other programs may take the machine's time."""
CLOCK_FACTOR = 10.0
"""A part gives up when the clock says that it has taken this many times its share, however little it computed."""
SHOWN = 12
"""Findings of each kind that are written out, alike ones once."""

Fault = Literal["wrong", "traceback", "hang", "lost"]
FAULTS: tuple[Fault, ...] = ("wrong", "traceback", "hang", "lost")


class Found(Exception):
    """A case that ended as none may."""

    def __init__(self, fault: Fault, what: str) -> None:
        super().__init__(what)
        self.fault: Fault = fault


class Hang(BaseException):
    """Raised into a case that takes too long; not an Exception, so that nothing under test swallows it."""


class NotPossible(Exception):
    """This part cannot run here, and why."""


@dataclass
class Counts:
    """What was tried and what was found; `wanted` cases are to be tried within `seconds`."""

    part: str
    seed: int
    wanted: int
    seconds: float
    tried: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    alike: set[str] = field(default_factory=set)
    not_possible: str = ""
    began: float = field(default_factory=time.monotonic)

    def time_left(self) -> float:
        """Computing time, so that a part does not fail because others use the machine too."""
        return self.seconds - computed_seconds()

    def go_on(self) -> bool:
        """Whether there are cases to try and time to try them."""
        late = time.monotonic() - self.began > CLOCK_FACTOR * self.seconds
        return self.tried < self.wanted and self.time_left() > 0 and not late

    @contextlib.contextmanager
    def case(self, kind: str, about: str) -> Iterator[None]:
        """Try one case; whatever it raises is counted, and the next one is tried."""
        self.tried += 1
        self.kinds[kind] += 1
        try:
            with limited():
                yield
        except Found as found:
            self.add(found.fault, f"{kind}: {about}: {found}")
        except Hang:
            self.add("hang", f"{kind}: {about}")
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename}:{place.lineno}"
            self.add("traceback", f"{kind}: {about}: {type(error).__name__}: {str(error)[:300]} ({where})")

    def add(self, fault: Fault, what: str) -> None:
        self.faults[fault] += 1
        alike = re.sub(r"\d+|[0-9a-f]{8,}|faults-\w+", "", what.rpartition(": ")[2])
        if alike not in self.alike and sum(one.startswith(fault) for one in self.findings) < SHOWN:
            self.alike.add(alike)
            self.findings.append(f"{fault}: {what}")

    @property
    def passed(self) -> bool:
        return not self.not_possible and self.tried >= self.wanted and not any(self.faults.values())

    def to_json(self) -> dict[str, Any]:
        return {
            "part": self.part,
            "seed": self.seed,
            "wanted": self.wanted,
            "tried": self.tried,
            **{fault: self.faults[fault] for fault in FAULTS},
            "passed": self.passed,
            "not_possible": self.not_possible,
            "seconds": round(time.monotonic() - self.began),
            "computed_seconds": round(computed_seconds()),
            "share_seconds": round(self.seconds),
            "kinds": dict(sorted(self.kinds.items())),
            "findings": self.findings,
        }


def computed_seconds() -> float:
    """What this process and those it started have computed."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@contextlib.contextmanager
def limited(seconds: float = HANG_SECONDS, idle: float = IDLE_SECONDS) -> Iterator[None]:
    """Raise `Hang` into what takes this much computing time, or this long on the clock, as a machine may be busy."""

    def stop(number: int, frame: object) -> None:
        raise Hang

    before = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, idle)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, handler)
