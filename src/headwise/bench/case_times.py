"""The times of one case: every contender in turn, how many times faster the fast paths are, where their time goes."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np

from headwise.bench.cases import CHUNK, SEED, Contender, Name, Sizes, contenders, prepared
from headwise.bench.floor import operations
from headwise.bench.peers import best_chunk, compiled_peers, fastest_plain
from headwise.bench.plain import plain_step
from headwise.bench.timing import Clock, interleaved, ratio, spread
from headwise.model import kernel
from headwise.model.kernel_engine import KernelEngine

FAST: tuple[Contender, ...] = ("torch", "kernel")


def case_times(
    case: Name, sizes: Sizes, *, repeats: int, clock: Clock, rate: float, best: bool, compiled: bool
) -> dict[str, Any]:
    """What `run.run_benchmark` says about one case, part by part.

    `rate` is what the machine does in matrix products, in operations a second. `best` adds plain torch in its best
    chunk, `compiled` the other strong alternatives; an evaluation has neither.
    """
    runs: dict[str, Callable[[], object]] = {str(name): run for name, run in contenders(case, sizes).items()}
    own, found = list(runs), {}
    if case != "evaluation" and (best or compiled):
        decoder, inputs, targets = prepared(sizes)
        plain = fastest_plain(decoder)
        chunk = best_chunk(plain, inputs, targets)
        found["best_chunk"] = chunk
        if best and not (chunk == CHUNK and "plain_pairwise" not in runs):
            runs["best_chunk"] = lambda: plain_step(plain, inputs, targets, chunk=chunk)
        if compiled:
            runs |= {str(name): run for name, run in compiled_peers(decoder, inputs, targets).items()}
    seconds = interleaved(runs, repeats=repeats, clock=clock)
    if best and "best_chunk" in found and "best_chunk" not in seconds:
        seconds["best_chunk"] = seconds["plain_chunked"]
    fast = [path for path in FAST if path in seconds]
    plain_seconds, quickest = seconds["plain"], seconds[fast[-1]]
    parts: dict[str, Any] = {
        "seconds": {name: statistics.median(times) for name, times in seconds.items()},
        "ratio": {path: ratio(plain_seconds, seconds[path]) for path in fast},
        "ratio_chunked": {path: ratio(seconds["plain_chunked"], seconds[path]) for path in fast},
        "ratio_spread": {path: spread(plain_seconds, seconds[path]) for path in fast},
        "ratio_peers": {name: ratio(times, quickest) for name, times in seconds.items() if name not in own},
        "ratio_peers_spread": {name: spread(times, quickest) for name, times in seconds.items() if name not in own},
        "floor": operations(case, sizes) / rate,
        **found,
    }
    if "plain_pairwise" in seconds:
        parts["ratio_pairwise"] = {path: ratio(seconds["plain_pairwise"], seconds[path]) for path in fast}
    if "kernel" in fast and case != "evaluation":
        parts["profile"] = kernel_profile(sizes, repeats=repeats)
    return parts


def kernel_profile(sizes: Sizes, *, repeats: int) -> dict[str, float]:
    """Seconds of a step by stage of the kernel."""
    decoder, inputs, targets = prepared(sizes)
    runner = KernelEngine(decoder, dropout_seed=SEED, chunk=CHUNK)
    runner.seconds = np.zeros(len(kernel.STAGES))
    for _ in range(repeats):
        runner.loss_and_gradients(inputs, targets, step=0)
    return dict(zip(kernel.STAGES, (runner.seconds / repeats).tolist(), strict=True))
