"""What many runs cost beside their steps: start-up of a worker, overhead of each run, and two processes side by side.

Measured from outside, with the commands that people use, on runs of the paper's sizes and few steps; the paper's number
of steps follows from the time of one. Nothing here is held to one core.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from headwise.store import RunDirectory

Report = Callable[[str], None]


class Kind(NamedTuple):
    """Runs of one experiment: how many steps a measured one has, and how many the paper's."""

    steps: int
    paper_steps: int


KINDS: dict[str, Kind] = {"minimal": Kind(steps=100, paper_steps=2000), "full": Kind(steps=16, paper_steps=2000)}
RUNS = 4
"""Runs of one step that a worker computes after its first: what each takes has no start-up in it."""


def study_speed(*, repeats: int, kinds: dict[str, Kind] = KINDS, report: Report | None = None) -> dict[str, Any]:
    """Per experiment, medians: `first_step` (seconds of a whole command with one step, measurement and checkpoint
    included), `start_up` (its part that a worker has once), `overhead` (seconds that each further run of one step
    takes), `step` (seconds of a step within a run, with its share of measuring and saving), `run` (seconds on one core
    of a run with the paper's steps, without start-up), `side_by_side` (the time of two processes at once over that of
    one), and `same` (whether the run of a seed ended with the same weights alone, beside another and in a sweep).
    """
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        rounds = [_round(name, kind) for _ in range(repeats)]
        digests = {digest for one in rounds for digest in one.digests}
        single = statistics.median(one.single for one in rounds)
        overhead = statistics.median((one.several - one.single) / RUNS for one in rounds)
        step = statistics.median((one.alone - one.single) / (kind.steps - 1) for one in rounds)
        ratios = [one.together / one.alone for one in rounds]
        found[name] = {
            "first_step": single,
            "start_up": single - overhead,
            "overhead": overhead,
            "step": step,
            "run": overhead + (kind.paper_steps - 1) * step,
            "paper_steps": kind.paper_steps,
            "side_by_side": statistics.median(ratios),
            "side_by_side_spread": [min(ratios), max(ratios)],
            "same": len(digests) == 1,
        }
        if report is not None:
            report(sentence(name, found[name]))
    return found


def sentence(name: str, found: dict[str, Any]) -> str:
    """One experiment as a line."""
    return (
        f"{name}: start-up {found['start_up']:.1f} s, {found['overhead']:.2f} s for each run, "
        f"{1000 * found['step']:.0f} ms a step, {found['run']:.0f} s for {found['paper_steps']} steps; two processes "
        f"side by side take {found['side_by_side']:.2f} times one, results {'equal' if found['same'] else 'DIFFERENT'}"
    )


class _Round(NamedTuple):
    """Seconds: one run of one step, that and `RUNS` more in one worker, one run, two at once; the weights of seed 0."""

    single: float
    several: float
    alone: float
    together: float
    digests: tuple[str, ...]


def _round(name: str, kind: Kind) -> _Round:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        single = _seconds(_sweep(name, out / "single", seeds="0", steps=1))
        several = _seconds(_sweep(name, out / "several", seeds=f"0..{RUNS}", steps=1))
        alone = _seconds(_train(name, out / "alone", seed=0, steps=kind.steps))
        together = _seconds(*(_train(name, out / "together", seed=seed, steps=kind.steps) for seed in (0, 1)))
        _seconds(_sweep(name, out / "swept", seeds="0", steps=kind.steps))
        digests = tuple(_digest(out / place) for place in ("alone", "together", "swept"))
    return _Round(single, several, alone, together, digests)


def _common(name: str, out: Path, steps: int) -> list[str]:
    return [name, "--steps", str(steps), "--out", str(out), "--quiet"]


def _train(name: str, out: Path, *, seed: int, steps: int) -> list[str]:
    return [sys.executable, "-m", "headwise", "train", *_common(name, out, steps), "--seed", str(seed)]


def _sweep(name: str, out: Path, *, seeds: str, steps: int) -> list[str]:
    return [sys.executable, "-m", "headwise", "sweep", *_common(name, out, steps), "--seeds", seeds]


def _seconds(*commands: list[str]) -> float:
    """How long it takes until all of these, begun together, have ended."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    start = time.perf_counter()
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for command in commands
    ]
    problems = [process.communicate()[1] for process in running]
    took = time.perf_counter() - start
    for process, problem in zip(running, problems, strict=True):
        if process.returncode:
            raise RuntimeError(f"{' '.join(map(str, process.args[2:]))}: {problem}")  # type: ignore[index]
    return took


def _digest(out: Path) -> str:
    """The weights that the run of seed 0 ended with."""
    found = [path.parent for path in out.rglob("manifest.json")]
    runs = [RunDirectory(path) for path in found]
    run = next(run for run in runs if run.read_config()["seed"] == 0)
    digest = hashlib.sha256()
    for name, array in sorted(run.final_checkpoint().arrays.items()):
        digest.update(f"{name} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
