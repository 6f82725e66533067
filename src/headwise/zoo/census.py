"""How many events of each kind a folder of stored runs has, by kind of training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from headwise.core.markdown import markdown_table
from headwise.zoo.stored import complete_runs, read_run
from headwise.zoo.truth.event import WHATS
from headwise.zoo.truth.find import find_truth


def count_events(folder: Path, *, kinds: Sequence[str] | None = None) -> str:
    """A table: runs of each kind, and clear + borderline events of each sort."""
    runs: Counter[str] = Counter()
    events: Counter[tuple[str, str, str]] = Counter()
    for mark in complete_runs(folder):
        stored = read_run(mark)
        if kinds and stored.kind not in kinds:
            continue
        found = find_truth(stored)
        for name in (stored.kind, "all"):
            runs[name] += 1
            events.update((name, event.what, event.value) for event in found)
    rows = [
        (
            name,
            str(runs[name]),
            *(f"{events[name, what, 'clear']} + {events[name, what, 'borderline']}" for what in WHATS),
        )
        for name in [*sorted(set(runs) - {"all"}), "all"]
    ]
    return markdown_table(("kind", "runs", *WHATS), rows)
