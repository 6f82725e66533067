"""`headwise report`: stored runs as one self-contained HTML page; torch is not needed."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

from headwise.cli.command import Command, print_json, refuse_extra, say
from headwise.core.errors import ConfigError, CorruptData

if TYPE_CHECKING:
    from headwise.view.report import Member


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "runs",
        type=Path,
        nargs="+",
        metavar="RUN",
        help="run directories, or a directory of runs; seeds of one config share a side, other configs stand beside it",
    )
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("report.html"), metavar="FILE", help="(default: report.html)"
    )
    parser.add_argument("--title", metavar="TEXT", help="a heading of your own")
    parser.add_argument("--watch", action="store_true", help="write the page again while the runs go on")
    parser.add_argument(
        "--every", type=float, default=10.0, metavar="SECONDS", help="with --watch: how often to look (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print what was written as one JSON document")


def run(arguments: argparse.Namespace, extra: list[str]) -> int:
    refuse_extra(extra)
    if not 0.1 <= arguments.every <= 86400:
        raise ConfigError(f"--every = {arguments.every:g} is not between 0.1 and 86400 seconds")
    from headwise.view.report.members import find_runs

    paths = find_runs(arguments.runs)
    if arguments.watch:
        size = watch(paths, arguments)
    else:
        size = write(paths, arguments)
        say(f"wrote {arguments.output} ({size / 1e6:.2f} MB)")
    if arguments.json:
        print_json({"page": str(arguments.output), "bytes": size, "runs": [str(path) for path in paths]})
    return 0


def write(paths: list[Path], arguments: argparse.Namespace) -> int:
    """One page of the runs as they are now."""
    from headwise.view.report import read_member, write_runs_page

    members = [read_member(path) for path in paths]
    return write_runs_page(arguments.output, members, title=arguments.title, command=command_line(paths, arguments))


def watch(paths: list[Path], arguments: argparse.Namespace) -> int:
    """Write the page whenever a run has new measurements, until all runs are over; Ctrl-C stops looking."""
    from headwise.view.report import Live, write_runs_page

    before: list[tuple[int, int]] | None = None
    damaged: str | None = None
    while True:
        progress = [_progress(path) for path in paths]
        members, over = [], False
        try:
            members = _those_with_measurements(paths)
            over = len(members) == len(paths) and all(m.status in ("finished", "diverged") for m in members)
            damaged = None
        except CorruptData as error:
            # A writer may be between two files; the same damage twice in a row is real.
            if damaged == str(error):
                raise
            damaged = str(error)
        if members and (over or progress != before):
            size = write_runs_page(
                arguments.output,
                members,
                title=arguments.title,
                command=command_line(paths, arguments),
                live=None if over else Live(arguments.every),
            )
            before = progress
            step = max(done for done, _ in progress)
            say(f"wrote {arguments.output} at step {step}" + (": all runs are over" if over else ""))
            if over:
                return size
        elif before is None and damaged is None:
            say("no measurements yet; waiting")
            before = []
        time.sleep(arguments.every)


def _progress(path: Path) -> tuple[int, int]:
    """The last step with metrics and with snapshots: they are written one after the other."""
    from headwise.store import RunDirectory

    run = RunDirectory(path)
    return max([0, *run.metrics.ends()]), max([0, *run.snapshots.ends()])


def _those_with_measurements(paths: list[Path]) -> list[Member]:
    """Runs that have reached their first checkpoint; before that there is nothing to draw."""
    from headwise.store import RunDirectory
    from headwise.view.report import read_member

    return [read_member(path) for path in paths if RunDirectory(path).metrics.ends()]


def command_line(paths: list[Path], arguments: argparse.Namespace) -> str:
    """What to type to make this page again."""
    words = ["headwise", "report", *map(str, paths), "-o", str(arguments.output)]
    return shlex.join(words + (["--title", arguments.title] if arguments.title else []))


COMMAND = Command("report", "one HTML page of runs, seeds or comparisons", add, run)
