"""Coverage-guided fuzzing of every reader of foreign files, each in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.faults.counts import Counts, NotPossible
from tests.faults.processes import ends
from tests.faults.workplace import workplace

TARGETS = (
    "token ids as .npy", "token ids as .json", "config file", "cluster file", "a checkpoint's config.json",
    "a checkpoint's model.safetensors", "a checkpoint's index", "a run's config.json", "a run's coordinates.json",
    "a run's manifest.json", "a run's metrics", "a run's snapshots", "a run's checkpoint", "a run's log", "a sidecar",
    "verdicts",
)  # fmt: skip
"""As `fuzz_target` names them; that module cannot be imported without atheris."""

SLOW = {"a checkpoint's config.json", "a checkpoint's model.safetensors", "a checkpoint's index"}
SLOW_SHARE = 0.1
"""Each of these files is loaded as a model, so they get fewer tries."""

FEW = ("config file", "a run's metrics")
MANY = 1000
"""Each target is a process that imports everything; where few tries are wanted, two of them are enough."""

ROUNDS = 4
"""A target that ran out of its time gets more once the others have had theirs."""
START_SECONDS = 90.0
MEGABYTES = 6000


def run(counts: Counts) -> None:
    """An equal part of the count for every target, a tenth of that for those that load a model."""
    if importlib.util.find_spec("atheris") is None:
        raise NotPossible("atheris is not installed: pip install 'headwise[faults]'")
    targets = TARGETS if counts.wanted >= MANY else FEW
    weights = {name: SLOW_SHARE if name in SLOW else 1.0 for name in targets}
    missing = {name: max(1, -int(-counts.wanted * weights[name] // sum(weights.values()))) for name in targets}
    for again in range(ROUNDS):
        short = [name for name, tries in missing.items() if tries > 0]
        for number, name in enumerate(short):
            seconds = max(5.0, counts.time_left() / (len(short) - number))
            with workplace() as place:
                missing[name] -= _fuzz(counts, name, place, tries=missing[name], seconds=seconds, again=again)
        if counts.time_left() < START_SECONDS:
            break


def _fuzz(counts: Counts, name: str, place: Path, *, tries: int, seconds: float, again: int) -> int:
    """Inputs tried; each round draws others."""
    options = [
        f"-runs={tries}", f"-seed={counts.seed + 1 + 1000 * again}", f"-max_total_time={int(seconds)}",
        "-max_len=20000", "-print_final_stats=1", "-timeout=60", f"-rss_limit_mb={MEGABYTES}",
        f"-artifact_prefix={place}/",
    ]  # fmt: skip
    command = [sys.executable, "-m", "tests.faults.fuzz_target", name, str(place), *options]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    told = place / "told"
    with told.open("wb") as file, subprocess.Popen(command, env=environment, stdout=file, stderr=file) as process:
        if not ends(process.pid, process.poll, within=seconds + START_SECONDS):
            process.kill()
            counts.add("hang", f"{name}: not over after {START_SECONDS:.0f} s more of computing than its time")
            return 0
    said = told.read_text(errors="replace")
    counted = re.search(r"number_of_executed_units: (\d+)", said)
    done = int(counted[1]) if counted else 0
    counts.tried += done
    counts.kinds[name] += done
    findings = place / "findings"
    for line in findings.read_text().splitlines() if findings.exists() else []:
        fault, _, what = line.partition("\t")
        counts.add("hang" if fault == "hang" else "traceback", f"{name}: {what}")
    if process.returncode != 0:
        counts.add("traceback", f"{name}: the process ended with {process.returncode}: {said[-500:]}")
    return done
