"""What a person calls a run: words in its log, which may be added and changed at any time and name nothing.

A label is no part of a run's identity, so the same run is found with any label or none; the last one given counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError
from headwise.core.readable import on_one_line
from headwise.store.log import read_events
from headwise.store.run_directory import RunDirectory

EVENT = "labelled"
LONGEST = 80


def check_label(label: Any) -> str | None:
    """The label on one line; `ConfigError` where it is no name."""
    if label is None:
        return None
    if not isinstance(label, str) or not label.strip() or len(label) > LONGEST:
        raise ConfigError(f"label = {label!r:.60} is no name; give a word or two, at most {LONGEST} characters")
    return on_one_line(label).strip()


def read_label(path: Path) -> str | None:
    """The last label that a run was given; `None` where it has none."""
    given = [event.get("label") for event in read_events(path / "log.jsonl") if event.get("event") == EVENT]
    return next((label for label in reversed(given) if isinstance(label, str)), None)


def write_label(run: RunDirectory, label: str | None) -> None:
    """Give a run this label, unless it has it already; needs the run's lock."""
    if label is not None and read_label(run.path) != label:
        run.log(EVENT, {"label": label})


def give_label(run: RunDirectory, label: str | None) -> None:
    """Give a run that nobody is writing this label."""
    if label is not None and read_label(run.path) != label:
        with run.writing():
            write_label(run, label)
