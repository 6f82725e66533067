"""How far a training is, for people who call it from Python: one line that is written over, or a line for each tenth.

A terminal and a notebook can write over a line; a log file cannot. The command has a bar of its own.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Literal

from headwise.core.errors import ConfigError

if TYPE_CHECKING:
    from headwise.study.train_run import Progress, Report

Shown = Literal["auto", "lines", "off"]
"""`auto` writes over its line where that works; `lines` never does; `off` says nothing."""

WIDTH = 78


def shown_progress(mode: Shown) -> Report:
    """What to call after every measurement."""
    if mode == "off":
        return lambda progress: None
    if mode not in ("auto", "lines"):
        raise ConfigError(f"progress = {mode!r} must be 'auto', 'lines' or 'off'")
    begun = time.monotonic()
    over = mode == "auto" and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    shown = -1

    def report(progress: Progress) -> None:
        nonlocal shown
        tenth = 10 * progress.step // max(progress.steps, 1)
        last = progress.step >= progress.steps
        if not over and tenth <= shown:
            return
        shown = tenth
        text = (
            f"{progress.experiment}: step {progress.step}/{progress.steps}  loss {progress.loss:.3f}  "
            f"nearest {progress.nearest}  {time.monotonic() - begun:.0f} s"
        )
        line = f"\r{text[:WIDTH]:<{WIDTH}}" + ("\n" if last else "") if over else f"{text}\n"
        try:
            sys.stderr.write(line)
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            return  # nobody listens any more; the training goes on

    return report
