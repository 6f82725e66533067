"""The parts of the battery: what each tries, how often, and its share of an hour on two cores."""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from tests.faults.counts import Counts, Found, Hang, NotPossible


@dataclass(frozen=True)
class Part:
    """`count` cases within `minutes` in full, `short` of them in the quick tests."""

    name: str
    about: str
    count: int
    minutes: float
    short: int
    seed: int = 0

    def run(self, count: int, *, seconds: float, seed: int) -> Counts:
        """Try this many cases; whatever stops the part is counted."""
        counts = Counts(self.name, seed, count, seconds)
        try:
            importlib.import_module(f"tests.faults.{self.name}").run(counts)
        except NotPossible as reason:
            counts.not_possible = str(reason)
        except Found as found:
            counts.add(found.fault, str(found))
        except Hang:
            counts.add("hang", "outside of a case")
        return counts


PARTS = (
    Part(
        "crashes",
        "states that a crash or power cut may leave of training, a sweep, recovery, `collect`, `probe` and a flow: all "
        "beginnings of what was asked of the file system, unsynced content torn, unsynced names lost in any subset; a "
        "sample is resumed to its end, and crashes a second time on the way",
        count=10_000,
        minutes=16,
        short=60,
    ),
    Part(
        "damage",
        "damage to every kind of file of a run, files exchanged between runs with their digests among it: found, with "
        "the run named, or without effect on any reader",
        count=5_000,
        minutes=14,
        short=25,
    ),
    Part(
        "errors",
        "errors of the machine in every call that touches a run (no space, a failing disk, no descriptors, no memory, "
        "no permission, read-only, short writes, failing fsync): one line, and the next start ends bit-identical",
        count=4_000,
        minutes=12,
        short=40,
    ),
    Part(
        "signals",
        "SIGKILL over five optimiser settings; SIGTERM, SIGINT, SIGSTOP and SIGKILL during `train`, `sweep`, "
        "`reproduce`, `collect`, `probe` and `report`: the same command again ends bit-identical",
        count=400,
        minutes=18,
        short=6,
    ),
    Part(
        "lines",
        "made-up command lines and config files: a known exit code, one line where refused, and then nothing written",
        count=20_000,
        minutes=10,
        short=60,
    ),
    Part(
        "fuzzing",
        "coverage-guided fuzzing of every reader of foreign files: token files, config files, checkpoints, the "
        "files of a run, verdicts",
        count=40_000,
        minutes=15,
        short=100,
    ),
    Part(
        "hosts",
        "runs of a sweep on three hosts (network namespaces, dask over TLS) of which one is cut off, slow, killed or "
        "the scheduler's: all finish, none twice, bit-identical",
        count=24,
        minutes=8,
        short=4,
    ),
    Part(
        "reading",
        "reads with data while a writer works, is killed and starts again: never a false alarm, never other values",
        count=1_000,
        minutes=14,
        short=15,
    ),
)
