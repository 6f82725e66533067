"""Progress of a run: a bar on a terminal, one plain line per tenth elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from headwise.cli.streams import say

if TYPE_CHECKING:
    from headwise.study.train_run import Progress

Report = Callable[["Progress"], None]


@contextmanager
def progress_display(mode: Literal["auto", "quiet"]) -> Iterator[Report]:
    """A function to hand to the runner."""
    if mode == "quiet":
        yield lambda progress: None
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield _tenths()


@contextmanager
def _bar() -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  nearest {task.fields[nearest]}", markup=False),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=Console(stderr=True, markup=False, emoji=False, highlight=False)) as bars:
        tasks: dict[str, int] = {}

        def report(progress: Progress) -> None:
            if progress.experiment not in tasks:
                tasks[progress.experiment] = bars.add_task(
                    progress.experiment, total=progress.steps, loss=progress.loss, nearest=progress.nearest
                )
            bars.update(
                tasks[progress.experiment],  # type: ignore[arg-type]
                completed=progress.step,
                loss=progress.loss,
                nearest=progress.nearest,
            )

        yield report


MANY = 50


def counted(what: str) -> Callable[[int, int], None]:
    """A line on stderr for each tenth of many small things; a few of them are over before a line is read."""
    shown = 0

    def report(done: int, total: int) -> None:
        nonlocal shown
        tenth = 10 * done // total
        if total >= MANY and tenth > shown:
            shown = tenth
            say(f"{done}/{total} {what}")

    return report


def _tenths() -> Report:
    shown: dict[str, int] = {}
    begun = time.monotonic()

    def report(progress: Progress) -> None:
        tenth = 10 * progress.step // max(progress.steps, 1)
        if shown.get(progress.experiment, -1) >= tenth:
            return
        shown[progress.experiment] = tenth
        say(
            f"{progress.experiment}: step {progress.step}/{progress.steps}  loss {progress.loss:.3f}  "
            f"excess {progress.excess_loss:.3f}  nearest {progress.nearest}  {time.monotonic() - begun:.0f} s"
        )

    return report
