"""`benchmark`: how fast each path is on this machine, beside plain torch, and which one is in use and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from headwise.bench.cases import NAMES
from headwise.bench.run import Part, run_benchmark
from headwise.bench.text import render
from headwise.core.errors import ConfigError
from headwise.core.named_options import named_options

Extent = Literal["all", "times", "study"]


@dataclass(frozen=True, eq=False)
class Benchmark:
    """What was measured; `str` of this is what `headwise bench` prints."""

    measured: dict[str, Any] = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        """All measurements as `bench.run.run_benchmark` names them, ready for JSON."""
        return self.measured

    def __str__(self) -> str:
        return render(self.measured)


@named_options
def benchmark(
    *,
    batch: int = 3000,
    repeats: int = 7,
    extent: Extent = "all",
    peers: bool = False,
    sizes: bool = False,
    level: str | None = None,
    report: Callable[[str], None] | None = None,
) -> Benchmark:
    """Time every path on every case, on one thread, taking turns; wants a quiet machine and about twenty minutes.

    `batch` is the number of sequences of a step. `extent="times"` leaves out accuracy, memory, growth and the other
    instruction levels, which take half of the minutes; `extent="study"` times whole runs instead, alone, beside each
    other and in a sweep, in five minutes. `peers` adds the strongest alternatives: plain torch in its best
    chunk, `torch.compile`, and JAX where it is installed. `sizes` compares what the `auto` path chooses with every
    other way at many sizes, ten minutes more. `level` holds the kernel to an instruction level (`plain`, `avx2`,
    `avx512`). `report` is called with a line about each case and size as it is done.

    >>> from headwise import benchmark
    >>> measured = benchmark(batch=8, repeats=1, extent="times").to_json()
    >>> measured["settings"]["batch"], "minimal" in measured["ratio"]
    (8, True)
    """
    for name, value in (("batch", batch), ("repeats", repeats)):
        if value < 1:
            raise ConfigError(f"--{name} {value} must be at least 1")
    parts: list[Part] = ["study" if extent == "study" else "times"]
    if extent == "all":
        parts += ["growth", "memory", "accuracy"]
        parts += [] if level else ["levels"]
    parts += ["sizes"] if sizes else []
    measured = run_benchmark(
        batch=batch, repeats=repeats, parts=parts, peers=NAMES if peers else (), level=level, report=report
    )
    return Benchmark(measured)
