"""The benchmark: every case, every contender, on one thread, as one dictionary that JSON can hold.

It is measured part by part, and `keep` gets all that is known after each, so that one that is stopped early loses one
part and can be continued.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

import torch

from headwise.bench.accuracy import gradient_errors
from headwise.bench.case_times import FAST, case_times
from headwise.bench.cases import NAMES, Contender, Name, can_use_kernel, paper_sizes
from headwise.bench.floor import product_rate
from headwise.bench.growth import growth
from headwise.bench.levels import level_seconds, limited_to
from headwise.bench.machine import machine
from headwise.bench.memory import peak_gigabytes
from headwise.bench.others import Others
from headwise.bench.sizes import measure_sizes
from headwise.bench.study_speed import study_speed
from headwise.bench.timing import Clock
from headwise.core.errors import ConfigError
from headwise.model import kernel
from headwise.model.compute import ComputeConfig
from headwise.model.config import MINIMAL_PUBLISHED
from headwise.model.paths import choose

Part = Literal["times", "levels", "sizes", "growth", "memory", "accuracy", "study"]
PARTS: tuple[Part, ...] = get_args(Part)
UNTIMED: tuple[Part, ...] = ("memory", "accuracy")
"""Parts that come out the same on a busy machine."""
ACCURACY_BATCH, LEVELS_BATCH, SIZES_REPEATS, GROWTH_REPEATS, STUDY_REPEATS = 300, 600, 5, 3, 3
KEYS = (
    "seconds",
    "ratio",
    "ratio_chunked",
    "ratio_pairwise",
    "ratio_spread",
    "floor",
    "grad_error",
    "memory",
    "profile",
    "growth",
    "ratio_peers",
    "ratio_peers_spread",
    "best_chunk",
    "levels",
    "others",
    "auto",
    "study",
)
Keep = Callable[[dict[str, Any]], None]


def run_benchmark(
    *,
    batch: int = 3000,
    repeats: int = 7,
    clock: Clock = "wall",
    parts: Collection[Part] = ("times", "growth", "memory", "accuracy"),
    peers: Collection[Name] = (),
    level: str | None = None,
    before: dict[str, Any] | None = None,
    keep: Keep | None = None,
    report: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Measure the `parts` of every case.

    `peers` are the cases that get the strongest alternatives beside them, of which compiling takes long; where there
    are any, every case has plain torch in its best chunk. `level` holds the kernel to an instruction level below the
    best. `before` is a result with the same settings that is continued: what it has is not measured again. `keep` gets
    the result after each thing that is done, `report` a line about it.

    Keys: `ratio` and `ratio_chunked` (case, path: times faster than plain on the whole batch, in chunks),
    `ratio_pairwise` (over the faster way to write the plain minimal model), `ratio_spread`, `seconds`, `floor`
    (seconds, and the machine's operations per second), `profile` (seconds by stage of the kernel), `grad_error`,
    `memory` (gigabytes), `growth`, `machine`, `settings`, `path`; `ratio_peers` (case, peer: how many times faster the
    best path is than this alternative), `ratio_peers_spread`, `best_chunk` (case: sequences, `null` for all), `levels`
    (case, level: seconds of the kernel, with a smaller batch), `auto` (`worst` and `sizes`, see
    `sizes.measure_sizes`), `others` (part: cores that other processes kept busy meanwhile), `study` (see
    `study_speed.study_speed`).
    """
    if "sizes" in parts and (problem := kernel.missing()) is not None:
        raise ConfigError(f"--sizes needs the kernel: {problem}")
    with _one_thread(), limited_to(level):
        settings = {
            "batch": batch,
            "repeats": repeats,
            "clock": clock,
            "threads": 1,
            "level": kernel.level() if kernel.missing() is None else None,
        }
        result: dict[str, Any] = {key: {} for key in KEYS}
        if before is not None:
            if before["settings"] != settings:
                raise ConfigError(f"a result with settings {before['settings']} cannot be continued with {settings}")
            result |= copy.deepcopy(before)
        choice = choose(MINIMAL_PUBLISHED, ComputeConfig())
        result |= {"machine": machine(), "path": choice._asdict(), "settings": settings}
        run = _Run(result, batch=batch, repeats=repeats, clock=clock, keep=keep, report=report)
        run.measure(parts, peers)
    if "study" in parts:
        run.study()
    return result


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread of torch on one core, so that libraries with threads of their own have no more than it has."""
    threads, cores = torch.get_num_threads(), os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    torch.set_num_threads(1)
    if cores is not None:
        os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        if cores is not None:
            os.sched_setaffinity(0, cores)


class _Run:
    """One benchmark under way: `result` grows part by part."""

    def __init__(
        self,
        result: dict[str, Any],
        *,
        batch: int,
        repeats: int,
        clock: Clock,
        keep: Keep | None,
        report: Callable[[str], None] | None,
    ) -> None:
        self.result, self.batch, self.repeats, self.clock = result, batch, repeats, clock
        self.keep = keep or (lambda result: None)
        self.report = report or (lambda line: None)

    def measure(self, parts: Collection[Part], peers: Collection[Name]) -> None:
        if "times" in parts:
            self.times(peers)
        if "sizes" in parts:
            self.sizes()
        if "levels" in parts and can_use_kernel(MINIMAL_PUBLISHED):
            self.levels()
        if "growth" in parts and not self.result["growth"]:
            others = Others()
            path = FAST[-1] if can_use_kernel(MINIMAL_PUBLISHED) else FAST[0]
            repeats = min(self.repeats, GROWTH_REPEATS)
            self.result["growth"] = growth(path, batch=self.batch, repeats=repeats, clock=self.clock)
            self.done("growth", others, "growth")
        if "accuracy" in parts:
            self.accuracy()
        if "memory" in parts:
            self.memory()

    def done(self, part: str, others: Others | None, line: str) -> None:
        """Keep what is known after a part, and say what it was."""
        if others is not None:
            self.result["others"][part] = others.cores()
        self.report(line)
        self.keep(self.result)

    def times(self, peers: Collection[Name]) -> None:
        floor = self.result["floor"]
        for case in NAMES:
            if case in self.result["seconds"]:
                continue
            rate = floor["operations_per_second"] = max(floor.get("operations_per_second", 0.0), product_rate())
            others = Others()
            sizes = paper_sizes(case, batch=self.batch)
            found = case_times(
                case,
                sizes,
                repeats=self.repeats,
                clock=self.clock,
                rate=rate,
                best=bool(peers),
                compiled=case in peers,
            )
            for key, value in found.items():
                self.result[key][case] = value
            said = ", ".join(f"{name} {took:.3f}" for name, took in found["seconds"].items())
            self.done(case, others, f"{case}: {said} seconds")

    def levels(self) -> None:
        for case in NAMES:
            if case not in self.result["levels"]:
                others, sizes = Others(), paper_sizes(case, batch=min(self.batch, LEVELS_BATCH))
                found = level_seconds(case, sizes, repeats=self.repeats, clock=self.clock)
                self.result["levels"][case] = found
                self.done("levels", others, f"{case}: " + ", ".join(f"{n} {took:.3f} s" for n, took in found.items()))

    def sizes(self) -> None:
        others = Others()

        def keep(found: dict[str, Any]) -> None:
            self.result["auto"] = found
            self.result["others"]["sizes"] = others.cores()
            self.keep(self.result)

        measure_sizes(
            batch=self.batch,
            repeats=min(self.repeats, SIZES_REPEATS),
            clock=self.clock,
            before=self.result["auto"],
            keep=keep,
            report=self.report,
        )

    def study(self) -> None:
        """Not on one core: two processes side by side have one each."""
        if not self.result["study"]:
            others = Others()
            self.result["study"] = study_speed(repeats=min(self.repeats, STUDY_REPEATS), report=self.report)
            self.result["others"]["study"] = others.cores()
            self.keep(self.result)

    def accuracy(self) -> None:
        for case in NAMES:
            if case not in self.result["grad_error"] and case != "evaluation":
                sizes = paper_sizes(case, batch=min(self.batch, ACCURACY_BATCH))
                self.result["grad_error"][case] = gradient_errors(sizes, list(_fast(case)))
                self.done("accuracy", None, f"{case}: gradients compared")

    def memory(self) -> None:
        for case in NAMES:
            if case not in self.result["memory"]:
                paths: tuple[Contender, ...] = ("plain", *_fast(case))
                peaks = {path: peak_gigabytes(case, path, batch=self.batch) for path in paths}
                self.result["memory"][case] = peaks
                self.done("memory", None, f"{case}: " + ", ".join(f"{path} {gb:.2f} GB" for path, gb in peaks.items()))


def _fast(case: Name) -> tuple[Literal["torch", "kernel"], ...]:
    return ("torch", "kernel") if can_use_kernel(paper_sizes(case).model) else ("torch",)
