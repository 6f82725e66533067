"""The benchmark: every case, every contender, on one thread, as one dictionary that JSON can hold."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Collection, Mapping
from typing import Any, Literal

import numpy as np
import torch

from headwise.bench.accuracy import gradient_errors
from headwise.bench.cases import CHUNK, NAMES, SEED, Contender, Name, Sizes, contenders, paper_sizes, prepared
from headwise.bench.floor import operations, product_rate
from headwise.bench.growth import growth
from headwise.bench.levels import limited_to
from headwise.bench.machine import machine
from headwise.bench.memory import peak_gigabytes
from headwise.bench.peers import peers
from headwise.bench.sizes import measure_sizes
from headwise.bench.timing import Clock, interleaved, ratio, spread
from headwise.core.errors import ConfigError
from headwise.model import kernel
from headwise.model.compute import ComputeConfig
from headwise.model.config import MINIMAL_PUBLISHED
from headwise.model.kernel_engine import KernelEngine
from headwise.model.paths import choose

FAST: tuple[Contender, ...] = ("torch", "kernel")
ACCURACY_BATCH = 300
PARTS = (
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
    "auto",
)
Extent = Literal["all", "times"]


def run_benchmark(
    *,
    batch: int = 3000,
    repeats: int = 7,
    clock: Clock = "wall",
    extent: Extent = "all",
    peers: bool = False,
    peer_cases: Collection[Name] = NAMES,
    sizes: bool = False,
    level: str | None = None,
    batches: Mapping[Name, int] | None = None,
    report: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Time every case. `extent` "times" leaves out accuracy, memory and growth, which take most of the minutes.

    `peers` adds the strongest alternatives to the turns of every step of `peer_cases` (compiling takes long), `sizes`
    many sizes of every model, and `level` holds the kernel to an instruction level below the best. `batches` gives
    single cases another number of sequences, which `settings` keeps. `report` hears of every case and size as it is
    done.

    Keys: `ratio` and `ratio_chunked` (case, path: times faster than plain on the whole batch, in chunks),
    `ratio_pairwise` (over the faster way to write the plain minimal model), `ratio_spread`, `seconds`, `floor`
    (seconds, and the machine's operations per second), `profile` (seconds by stage of the kernel), `grad_error`,
    `memory` (gigabytes), `growth`, `machine`, `settings`, `path`; `ratio_peers` (case, peer: how many times faster the
    best path is than this alternative), `auto` (`worst` and `sizes`, see `sizes.measure_sizes`).
    """
    if sizes and (problem := kernel.missing()) is not None:
        raise ConfigError(f"--sizes needs the kernel: {problem}")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with limited_to(level):
            result = _run(
                batches={case: (batches or {}).get(case, batch) for case in NAMES},
                batch=batch,
                repeats=repeats,
                clock=clock,
                extent=extent,
                peer_cases=peer_cases if peers else (),
                report=report or _silent,
            )
            if sizes:
                result["auto"] = measure_sizes(batch=batch, repeats=min(repeats, 5), clock=clock, report=report)
            return result
    finally:
        torch.set_num_threads(threads)


def _silent(line: str) -> None:
    pass


def _run(
    *,
    batches: dict[Name, int],
    batch: int,
    repeats: int,
    clock: Clock,
    extent: Extent,
    peer_cases: Collection[Name],
    report: Callable[[str], None],
) -> dict[str, Any]:
    choice = choose(MINIMAL_PUBLISHED, ComputeConfig())
    result: dict[str, Any] = {
        "machine": machine(),
        "path": choice._asdict(),
        "settings": {
            "batch": batch,
            "batches": batches,
            "repeats": repeats,
            "clock": clock,
            "threads": 1,
            "level": kernel.level() if kernel.missing() is None else None,
        },
        **{part: {} for part in PARTS},
    }
    rate = product_rate()
    result["floor"]["operations_per_second"] = rate
    for case in NAMES:
        sizes = paper_sizes(case, batch=batches[case])
        runs: dict[str, Callable[[], object]] = {str(name): run for name, run in contenders(case, sizes).items()}
        others: list[str] = []
        if case in peer_cases and case != "evaluation":
            found = peers(*prepared(sizes))
            others = list(found)
            runs |= {str(name): run for name, run in found.items()}
        seconds = interleaved(runs, repeats=repeats, clock=clock)
        fast = [path for path in FAST if path in seconds]
        result["ratio_peers"][case] = {peer: ratio(seconds[peer], seconds[fast[-1]]) for peer in others}
        plain, chunked = seconds["plain"], seconds["plain_chunked"]
        result["seconds"][case] = {name: statistics.median(times) for name, times in seconds.items()}
        result["ratio"][case] = {path: ratio(plain, seconds[path]) for path in fast}
        if "plain_pairwise" in seconds:
            result["ratio_pairwise"][case] = {path: ratio(seconds["plain_pairwise"], seconds[path]) for path in fast}
        result["ratio_chunked"][case] = {path: ratio(chunked, seconds[path]) for path in fast}
        result["ratio_spread"][case] = {path: spread(plain, seconds[path]) for path in fast}
        result["floor"][case] = operations(case, sizes) / rate
        if "kernel" in fast and case != "evaluation":
            result["profile"][case] = kernel_profile(case, sizes, repeats=repeats)
        if extent == "all":
            result["memory"][case] = {
                path: peak_gigabytes(case, path, batch=batches[case]) for path in ("plain", *fast)
            }
            if case != "evaluation":
                small = paper_sizes(case, batch=min(batches[case], ACCURACY_BATCH))
                result["grad_error"][case] = gradient_errors(small, fast)
        report(f"{case}: {fast[-1]} {result['seconds'][case][fast[-1]]:.3f} s, plain {statistics.median(plain):.3f} s")
    if extent == "all":
        result["growth"] = growth(fast[-1], batch=batch, repeats=min(repeats, 3), clock=clock)
    return result


def kernel_profile(case: Name, sizes: Sizes, *, repeats: int) -> dict[str, float]:
    """Seconds of a step by stage of the kernel."""
    decoder, inputs, targets = prepared(sizes)
    runner = KernelEngine(decoder, dropout_seed=SEED, chunk=CHUNK)
    runner.seconds = np.zeros(len(kernel.STAGES))
    for _ in range(repeats):
        runner.loss_and_gradients(inputs, targets, step=0)
    return dict(zip(kernel.STAGES, (runner.seconds / repeats).tolist(), strict=True))
