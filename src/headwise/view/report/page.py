"""`page`: runs and trajectories as one HTML file, once or again and again while they are computed."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError, CorruptData
from headwise.core.named_options import named_options
from headwise.store import RunDirectory
from headwise.view.report.html import page_path
from headwise.view.report.members import Member, Shown, as_member, find_runs, read_member
from headwise.view.report.pages import Live, write_runs_page

Runs = Path | str | Sequence[Path | str]
"""A run directory, a directory of runs, or several of them."""

SHORTEST, LONGEST = 0.1, 86400.0
"""Seconds between two looks at runs that are being computed."""


@dataclass(frozen=True)
class WrittenPage:
    """A page on disk and the runs on it; `str` of this is what `headwise report` says."""

    page: Path
    bytes: int
    runs: tuple[Path, ...]

    def to_json(self) -> dict[str, Any]:
        """`page`, `bytes` and `runs`, ready for JSON."""
        return {"page": str(self.page), "bytes": self.bytes, "runs": [str(run) for run in self.runs]}

    def __str__(self) -> str:
        return f"wrote {self.page} ({self.bytes / 1e6:.2f} MB)"


@named_options
def page(runs: Shown | Sequence[Shown], output: Path | str = "report.html", *, title: str | None = None) -> WrittenPage:
    """One self-contained HTML page of runs as they are now, without torch.

    `runs` is a run directory, a directory of runs, a pattern of names, a netCDF file or Zarr store, a trajectory, a
    watch, or a list of these. Seeds of one config share a side of the page; other configs stand beside it.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow, page
    >>> with tempfile.TemporaryDirectory() as out:
    ...     flow = keep_flow(FlowConfig(T=5, t_end=30.0, points=20), out=out)
    ...     written = page(flow.run, f"{out}/flow.html", title="A small flow")
    >>> written.page.name, written.bytes > 100_000, len(written.runs)
    ('flow.html', True, 1)
    """
    output = output_path(output)
    members, paths = gathered(runs)
    known = command_line(paths, output, title) if len(paths) == len(members) else None
    size = write_runs_page(output, members, title=title, command=known)
    return WrittenPage(output, size, tuple(paths))


@named_options
def refresh_page(
    runs: Runs,
    output: Path | str = "report.html",
    *,
    title: str | None = None,
    every: float = 10.0,
    notify: Callable[[str], None] = lambda line: None,
) -> WrittenPage:
    """Write the page of runs whenever one of them has new measurements, until all of them are over.

    `every` is the number of seconds between two looks; `notify` is called with a line whenever the page was written.

    >>> import tempfile
    >>> from headwise import FlowConfig, keep_flow, refresh_page
    >>> with tempfile.TemporaryDirectory() as out:
    ...     flow = keep_flow(FlowConfig(T=5, t_end=30.0, points=20), out=out)
    ...     written = refresh_page(flow.run, f"{out}/flow.html", notify=lambda line: print(line[-29:]))
    at step 30: all runs are over
    """
    if not SHORTEST <= every <= LONGEST:
        raise ConfigError(f"--every = {every:g} is not between {SHORTEST:g} and {LONGEST:g} seconds")
    paths, output = _found(runs), output_path(output)
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
                output,
                members,
                title=title,
                command=command_line(paths, output, title),
                live=None if over else Live(every),
            )
            before = progress
            step = max(done for done, _ in progress)
            notify(f"wrote {output} at step {step}" + (": all runs are over" if over else ""))
            if over:
                return WrittenPage(output, size, tuple(paths))
        elif before is None and damaged is None:
            notify("no measurements yet; waiting")
            before = []
        time.sleep(every)


def command_line(paths: Sequence[Path], output: Path | None, title: str | None) -> str:
    """What to type to make this page again; without an `output` it is written where the command writes by itself."""
    words = ["headwise", "report", *map(str, paths), *([] if output is None else ["-o", str(output)])]
    return shlex.join(words + (["--title", title] if title else []))


def gathered(runs: Shown | Sequence[Shown]) -> tuple[list[Member], list[Path]]:
    """Everything that a page is to show, in the order given, and the paths of what is on disk."""
    several: list[Any] = list(runs) if isinstance(runs, list | tuple) else [runs]
    members: list[Member] = []
    paths: list[Path] = []
    for given in several:
        if isinstance(given, str | Path):
            found = [path for path in find_runs([given]) if path not in paths]
            members += [read_member(path) for path in found]
            paths += found
        else:
            members.append(as_member(given))
    return members, paths


def output_path(given: Path | str) -> Path:
    """Where a page is to be written; said before anything is computed."""
    if not isinstance(given, str | os.PathLike):
        raise ConfigError(f"a page is written to a file, got a {type(given).__name__}; give a name such as heads.html")
    return page_path(given)


def _found(runs: Runs) -> list[Path]:
    return find_runs([runs] if isinstance(runs, Path | str) else list(runs))


def _progress(path: Path) -> tuple[int, int]:
    """The last step with metrics and with snapshots: they are written one after the other."""
    run = RunDirectory(path)
    return max([0, *run.metrics.ends()]), max([0, *run.snapshots.ends()])


def _those_with_measurements(paths: Sequence[Path]) -> list[Member]:
    """Runs that have reached their first checkpoint; before that there is nothing to draw."""
    return [read_member(path) for path in paths if RunDirectory(path).metrics.ends()]
