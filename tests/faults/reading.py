"""Readers while a writer works, is killed and starts again: they see a beginning of what is there in the end."""

from __future__ import annotations

import random
import shutil
import signal
from pathlib import Path

import xarray as xr

import headwise
from headwise.core.errors import ConfigError, CorruptData
from tests.faults.counts import Counts, Found
from tests.faults.processes import Child, import_everything, start
from tests.faults.readers import is_beginning, require_tidy
from tests.faults.workplace import command, run_folders, train_line, without_git, workplace

READERS = ("load", "load", "list", "phases", "page", "verify")
KILL_AFTER = 25
"""Reads between two kills of every second writer."""


def run(counts: Counts) -> None:
    """Read one run after another while each is being written."""
    import_everything()
    rng = random.Random(counts.seed)
    seed = 0
    with workplace() as place, without_git():
        while counts.go_on():
            _read_one(counts, place / "runs", place, seed=seed, rng=rng)
            shutil.rmtree(place / "runs")
            seed += 1


def _read_one(counts: Counts, root: Path, place: Path, *, seed: int, rng: random.Random) -> None:
    line = train_line(root, seed=seed, train__steps="300", train__checkpoint_every="2", train__keep_every="20")
    writer = start(line, place)
    seen: list[xr.Dataset] = []
    reads = 0
    try:
        while writer.poll() is None and counts.go_on():
            [run] = run_folders(root) or [None]
            if run is None:
                continue
            reader = rng.choice(READERS)
            before = has_data(run)
            with counts.case(reader, f"seed {seed}"):
                if not _read(reader, run, place, seen):
                    counts.tried -= 1  # a read without data is none
                    if before:
                        raise Found("wrong", f"{reader} finds nothing where something was measured")
            reads += 1
            if seed % 2 and reads % KILL_AFTER == 0:
                writer = _killed_and_begun_again(writer, line, place)
    finally:
        writer.send(signal.SIGKILL)
        writer.wait()
    with counts.case("the run in the end", f"seed {seed}"):
        counts.tried -= 1
        if start(line, place).wait() != 0:
            raise Found("lost", (place / "stderr").read_text()[-300:])
        whole = headwise.load(run_folders(root)[0])
        for part in seen:
            if not is_beginning(part, whole):
                raise Found("wrong", f"a reader saw values up to step {part['step'].values[-1]} that were not kept")


def has_data(run: Path) -> bool:
    """Whether something has been measured that a reader could read."""
    return any(run.glob("metrics-*.parquet"))


def _read(reader: str, run: Path, place: Path, seen: list[xr.Dataset]) -> bool:
    """Whether there was something to read."""
    try:
        if reader == "load":
            seen.append(headwise.load(run))
        elif reader == "phases":
            headwise.detect(headwise.load(run))
        elif reader == "list":
            for record in headwise.list_runs(run.parents[1], care="full"):
                if record.status not in ("running", "interrupted", "finished"):
                    raise Found("wrong", f"a run that is being written is called {record.status}")
        else:
            line = ["report", str(run), "-o", str(place / "page.html")] if reader == "page" else ["verify", str(run)]
            answer = command(*line)
            require_tidy(answer, reader)
            if answer.code == 3:
                raise Found("wrong", f"{reader} calls a run damaged that is being written: {answer.last}")
            if answer.code not in (0, 2):
                raise Found("wrong", f"{reader} ended with {answer.code}: {answer.last}")
            return answer.code == 0
    except CorruptData as error:
        raise Found("wrong", f"{reader} calls a run damaged that is being written: {error}") from None
    except ConfigError:
        return False
    return True


def _killed_and_begun_again(writer: Child, line: list[str], place: Path) -> Child:
    writer.send(signal.SIGKILL)
    writer.wait()
    return start(line, place)
