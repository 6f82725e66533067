"""The page of one run, of several seeds, or of several configs side by side."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwise.view.report.html import render, write_page
from headwise.view.report.members import Member
from headwise.view.report.page_data import page_data
from headwise.view.report.palette import PALETTE
from headwise.view.report.provenance import describe
from headwise.view.report.sides import Side, arrange

SCRIPTS = (
    "decode",
    "theme",
    "elements",
    "clock",
    "state",
    "exporting",
    "panel",
    "heatmap",
    "strips",
    "lags",
    "curves",
    "dock",
    "live",
    "page",
)
"""Files of `static/`, in the order in which the page needs them."""


@dataclass(frozen=True)
class Live:
    """The run goes on: the file is written again every `every` seconds, and the page looks for that."""

    every: float


def runs_page(
    members: Sequence[Member], *, title: str | None = None, command: str | None = None, live: Live | None = None
) -> str:
    """The page as text; `command` is the command line that makes it again."""
    sides = arrange(members)
    data = page_data(sides)
    heading = title or _title(sides)
    written = int(time.time() * 1000)
    provenance = describe(sides)
    extra = {
        "palette": PALETTE,
        "title": heading,
        "live": {"every": live.every, "written": written} if live else None,
    }
    context = {
        "title": heading,
        "summaries": _summaries(data["sides"]),
        "kind": _kind(sides),
        "status": sorted({member.status for member in members}),
        "notes": [(side["label"], side["notes"]) for side in data["sides"] if side["notes"]],
        "left_out": _left_out(data["sides"]),
        "sides": data["sides"],
        "provenance": provenance,
        "command": command,
        "version": importlib.metadata.version("headwise"),
        "live": live,
        "written": written,
    }
    return render(
        "runs.html",
        context,
        data={**data, **extra},
        styles=("vendor/uPlot.min.css", "static/page.css"),
        scripts=(("vendor/uPlot.iife.min.js",), tuple(f"static/{name}.js" for name in SCRIPTS)),
        frames="'self' file:" if live else "'none'",
    )


def write_runs_page(
    path: Path | str,
    members: Sequence[Member],
    *,
    title: str | None = None,
    command: str | None = None,
    live: Live | None = None,
) -> int:
    """Write the page; returns its size in bytes."""
    return write_page(path, runs_page(members, title=title, command=command, live=live))


def _kind(sides: Sequence[Side]) -> str:
    if len(sides) > 1:
        return f"comparison of {len(sides)}"
    seeds = len(sides[0].members)
    return f"study of {seeds} seeds" if seeds > 1 else "run"


def _title(sides: Sequence[Side]) -> str:
    if len(sides) > 1:
        return " and ".join(side.label for side in sides)
    members = sides[0].members
    if len(members) > 1:
        return f"{sides[0].label} · {len(members)} seeds"
    return sides[0].label if members[0].seed is None else f"{sides[0].label} · seed {members[0].seed}"


def _summaries(sides: Sequence[dict[str, object]]) -> list[tuple[str, str]]:
    """One sentence a side: what happened in its reference seed."""
    found = []
    for side in sides:
        runs, study = side["runs"], side["study"]
        assert isinstance(runs, list)
        reference = study["reference"] if isinstance(study, dict) else runs[0]["seed"]
        run = next((run for run in runs if run["seed"] == reference), runs[0])
        if run["summary"]:
            label = f"{side['label']}: " if len(sides) > 1 else ""
            found.append((label, str(run["summary"])))
    return found


def _left_out(sides: Sequence[dict[str, object]]) -> list[str]:
    """What the page does not hold of its runs, to stay small."""
    notes = []
    for side in sides:
        runs = side["runs"]
        assert isinstance(runs, list)
        for run in runs:
            for name, block in (("evaluations", run["curves"]), ("attention maps", run["maps"])):
                if block and len(block["steps"]) < block["of"]:
                    notes.append(
                        f"{side['label']}, {run['label']}: {len(block['steps'])} of {block['of']} {name} are on this "
                        "page, to keep it small; the run directory has all"
                    )
    return notes
