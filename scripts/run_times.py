"""How long stored runs took, from start to end, beside what a plan says of them.

    python scripts/run_times.py runs/paper

Writes results/paper/run-times.csv: a row for each experiment, reading and number of steps, with the runs that were
computed in one go, the median of their times and the estimate that `headwise reproduce --dry-run` adds up. Runs that
were resumed are left out, since the time between is in theirs. Other processes on the machine are in all of them.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path
from statistics import median

from headwise.core.atomic import replace_file
from headwise.core.csv_text import csv_text
from headwise.store import RunDirectory, list_runs
from headwise.study.config import RunConfig
from headwise.study.cost import estimate_seconds

TABLE = Path(__file__).parents[1] / "results" / "paper" / "run-times.csv"
COLUMNS = ("experiment", "reading", "steps", "runs", "median seconds", "estimated seconds")
UNINTERRUPTED = ["started", "finished"]

Kind = tuple[str, str, int]


def seconds_of(run: RunDirectory) -> float | None:
    """From start to end of a run that finished in one go; nothing for others."""
    events = [line for line in run.read_log() if line["event"] in ("started", "resumed", "finished")]
    if [line["event"] for line in events] != UNINTERRUPTED:
        return None
    begun, ended = (datetime.fromisoformat(line["time"]) for line in events)
    return (ended - begun).total_seconds()


def main(roots: list[str]) -> int:
    """Read the runs below the folders and write the table."""
    times: dict[Kind, list[float]] = {}
    estimates: dict[Kind, float] = {}
    for run in (RunDirectory(one.path) for root in roots for one in list_runs(root)):
        seconds = seconds_of(run)
        if seconds is None:
            continue
        config = RunConfig.model_validate(run.read_config())
        kind = (config.experiment, config.preset, config.train.steps)
        times.setdefault(kind, []).append(seconds)
        estimates[kind] = estimate_seconds(config)
    if not times:
        print(__doc__, file=sys.stderr)
        return 2
    rows = [(*kind, len(times[kind]), f"{median(times[kind]):.0f}", f"{estimates[kind]:.0f}") for kind in sorted(times)]
    replace_file(TABLE, csv_text(COLUMNS, rows))
    taken = sum(map(sum, times.values()))
    planned = sum(estimates[kind] * len(found) for kind, found in times.items())
    print(
        f"{sum(map(len, times.values()))} runs in {taken / 3600:.2f} hours of one core, estimated {planned / 3600:.2f}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
