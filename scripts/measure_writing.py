"""What writing a run costs, in two versions of the sources: the same minimal run with each, taking turns.

    python scripts/measure_writing.py BEFORE [--rounds 5] [--changes train.steps=2000 ...]

BEFORE is a folder with other sources (`src` of another worktree, its kernel built). Every round trains the published
minimal model once with each, in processes of their own with one thread. Prints the seconds spent in the store (all
calls that write, resume from or look for a run, and what they call), the seconds of the whole run, and by how much of
the run the former grew, from medians over the rounds, and the same in seconds of the processor, which do not depend on
what else the machine does; exits with 1 where either is 2 % or more.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

LIMIT = 0.02

PROGRAM = """
import json, sys, tempfile, time
from headwise.study import runner
from headwise.study.experiments import experiment
from headwise.store import RunDirectory

CLOCKS = {"seconds": time.perf_counter, "of the processor": time.process_time}
spent, depth = dict.fromkeys(CLOCKS, 0.0), 0

def timed(function):
    def call(*arguments, **options):
        global depth
        depth += 1
        begun = {name: clock() for name, clock in CLOCKS.items()}
        try:
            return function(*arguments, **options)
        finally:
            depth -= 1
            if depth == 0:
                for name, clock in CLOCKS.items():
                    spent[name] += clock() - begun[name]
    return call

for name in ("start", "write_metrics", "write_snapshots", "write_checkpoint", "latest_checkpoint", "discard_after",
             "prune_checkpoints", "finish", "log", "read_manifest", "read_config", "require_same"):
    if hasattr(RunDirectory, name):
        setattr(RunDirectory, name, timed(getattr(RunDirectory, name)))
runner.run_location = timed(runner.run_location)
config = experiment("minimal", changes=json.loads(sys.argv[1]))
with tempfile.TemporaryDirectory() as out:
    begun = {name: clock() for name, clock in CLOCKS.items()}
    runner.execute(config, out)
    print(json.dumps({name: {"store": spent[name], "run": clock() - begun[name]} for name, clock in CLOCKS.items()}))
"""


Measured = dict[str, dict[str, float]]


def measure(sources: Path, changes: dict[str, object]) -> Measured:
    """One run with these sources: by clock, seconds in the store and seconds in all."""
    environment = {**os.environ, "PYTHONPATH": str(sources.resolve()), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PROGRAM, json.dumps(changes)]
    answer = subprocess.run(command, capture_output=True, text=True, env=environment)
    if answer.returncode:
        raise SystemExit(f"{sources}: {answer.stderr}")
    result: Measured = json.loads(answer.stdout.splitlines()[-1])
    return result


def main() -> int:
    """Take turns, print the medians; the exit code says whether the limit was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path, metavar="BEFORE")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--changes", nargs="*", default=[], metavar="KEY=VALUE")
    arguments = parser.parse_args()
    changes = {key: json.loads(value) for key, value in (change.split("=", 1) for change in arguments.changes)}
    versions = {"before": arguments.before, "now": Path(__file__).resolve().parents[1] / "src"}
    found: dict[str, list[Measured]] = {name: [] for name in versions}
    for number in range(arguments.rounds):
        for name in sorted(versions, reverse=bool(number % 2)):
            found[name].append(measure(versions[name], changes))
            shown = [f"{one['store']:.3f} s of {one['run']:.2f} s {clock}" for clock, one in found[name][-1].items()]
            print(f"{name:6}  {', '.join(shown)}", flush=True)
    grown = [growth(found["before"], found["now"], clock=clock) for clock in found["now"][0]]
    return 0 if max(grown) < LIMIT else 1


def growth(before: list[Measured], now: list[Measured], *, clock: str) -> float:
    """What the store takes more than before, as a share of the run; printed too."""
    was, is_now = (statistics.median(one[clock]["store"] for one in rounds) for rounds in (before, now))
    whole = statistics.median(one[clock]["run"] for one in before)
    share = (is_now - was) / whole
    print(f"{clock}: the store took {was:.3f} s and takes {is_now:.3f} s of a run of {whole:.2f} s: {share:+.2%}")
    return share


if __name__ == "__main__":
    raise SystemExit(main())
