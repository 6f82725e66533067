"""What sweeps cost: planning, throughput, scheduling, memory and open files.

    python scripts/measure_sweeps.py [plan] [throughput] [overhead] [flat] [--small]

Without names it measures all four, about 20 minutes on two quiet cores; `throughput` alone takes about 7. Prints one
line per measurement and exits with 1 where a limit is missed: a plan of 1000 runs within 2 s; 20 minimal runs of 200
steps at least 1.8 times as fast on two workers as on one; less than 2 % of scheduling around runs of ten seconds; over
1000 tiny runs no more open files at the end than after 200 of them, and at most 5 % more memory, in process and on two
workers.
`--small` does fewer and smaller runs to try the script itself; its numbers mean nothing.

Throughput is only worth reading on a machine with two idle cores; the load average is printed for that reason.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import psutil

os.environ.setdefault("OMP_NUM_THREADS", "1")

from headwise.study import many
from headwise.study.config import RunConfig
from headwise.study.executors import open_pool
from headwise.study.experiments import experiment

PLAN_SECONDS, SPEED_UP, OVERHEAD, GROWTH = 2.0, 1.8, 0.02, 0.05
RUN_SECONDS = 10.0
TINY = {
    "task.d": 6,
    "task.T": 5,
    "train.batch": 20,
    "train.samples": 60,
    "train.steps": 5,
    "measure.test_samples": 30,
}


def main() -> int:
    """Measure what is asked for; the exit code says whether all limits were met."""
    measurements: dict[str, Callable[[bool], bool]] = {
        "plan": plan,
        "throughput": throughput,
        "overhead": overhead,
        "flat": flat,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(measurements))
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(measurements):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; take {', '.join(measurements)}")
    print(f"load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} processors")
    met = [measurements[name](arguments.small) for name in arguments.names or measurements]
    return 0 if all(met) else 1


def plan(small: bool) -> bool:
    """The whole command, interpreter included."""
    command = [sys.executable, "-m", "headwise", "sweep", "minimal", "--dry-run", "--out", "no-such-directory"]
    command += ["--over", "task.m=" + ",".join(f"1.{k}" for k in range(10))]
    command += ["--over", "model.init_scale=" + ",".join(f"1e-{k}" for k in range(1, 11)), "--seeds", "0..9"]
    began = time.monotonic()
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds = time.monotonic() - began
    return verdict(f"plan of {len(printed.split())} runs: {seconds:.2f} s", seconds < PLAN_SECONDS)


def throughput(small: bool) -> bool:
    """The whole command on one and on two workers, start of the cluster included."""
    size = ["--steps", "20", "--seeds", "0..3"] if small else ["--steps", "200", "--seeds", "0..19"]
    seconds = {}
    for workers in (1, 2):
        with tempfile.TemporaryDirectory() as out:
            began = time.monotonic()
            command = [sys.executable, "-m", "headwise", "sweep", "minimal", *size, "-q", "--out", out]
            subprocess.run([*command, "--workers", str(workers)], check=True)
            seconds[workers] = time.monotonic() - began
    ratio = seconds[1] / seconds[2]
    told = f"throughput: one worker {seconds[1]:.1f} s, two workers {seconds[2]:.1f} s, {ratio:.2f} times as fast"
    return verdict(told, ratio >= SPEED_UP)


def overhead(small: bool) -> bool:
    """Sleeps in the place of runs, so that only what surrounds them is measured, however busy the machine is."""
    length, rounds = (1.0, 2) if small else (RUN_SECONDS, 4)
    configs = [tiny(seed) for seed in range(2 * rounds)]

    original, many.compute_one = many.compute_one, partial(sleep, length)
    try:
        with tempfile.TemporaryDirectory() as out, open_pool("local", workers=2) as pool:
            # Workers start once for a whole sweep; `throughput` counts that.
            for up in [pool.executor.submit(time.sleep, 0.5) for _ in range(2)]:
                up.result()
            began = time.monotonic()
            many.run_all(configs, out, executor=pool.executor, argv=[], count_workers=pool.count_workers)
            share = (time.monotonic() - began) / (rounds * length) - 1
    finally:
        many.compute_one = original
    told = f"scheduling overhead: {share:.2%} around {len(configs)} runs of {length:.0f} s on two workers"
    return verdict(told, share < OVERHEAD)


def sleep(length: float, document: dict[str, object], out: str, argv: list[str]) -> str:
    """What a worker does instead of a run; found by its name in the worker's own process."""
    time.sleep(length)
    return ""


def flat(small: bool) -> bool:
    """Memory and open files of this process and its workers while many tiny runs are computed."""
    total = 60 if small else 1000
    met = []
    for workers in (1, 2):
        seen: dict[int, tuple[float, int]] = {}

        def watch(outcome: many.Outcome, seen: dict[int, tuple[float, int]] = seen) -> None:
            if outcome.status != "finished":
                raise SystemExit(f"{outcome.run} did not finish: {outcome.reason}")
            seen[len(seen) + 1] = footprint() if (len(seen) + 1) % (total // 20) == 0 else (0.0, 0)

        with tempfile.TemporaryDirectory() as out, open_pool("local", workers=workers) as pool:
            many.run_all([tiny(seed) for seed in range(total)], out, executor=pool.executor, argv=[], ended=watch)
        early, late = total // 5, total
        growth = seen[late][0] / seen[early][0] - 1
        path = "  ".join(f"{done}: {seen[done][0]:.0f} MB, {seen[done][1]} files" for done in (early, total // 2, late))
        told = f"flat, {'in process' if workers == 1 else 'two workers'}: {path}, memory {growth:+.1%}"
        met.append(verdict(told, growth <= GROWTH and seen[late][1] <= seen[early][1]))
    return all(met)


def tiny(seed: int) -> RunConfig:
    """A run of a few steps of a small model."""
    return experiment("minimal", "redrawn", changes={**TINY, "seed": seed})


def footprint() -> tuple[float, int]:
    """Resident megabytes and open files of this process and its workers; other helpers come and go."""
    here = psutil.Process()
    memory, files = here.memory_info().rss, here.num_fds()
    for child in here.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "spawn_main" in " ".join(child.cmdline()):
                memory, files = memory + child.memory_info().rss, files + child.num_fds()
    return memory / 1e6, files


def verdict(line: str, met: bool) -> bool:
    """Print a measurement and whether its limit was met."""
    print(f"{line}  {'met' if met else 'MISSED'}", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(main())
