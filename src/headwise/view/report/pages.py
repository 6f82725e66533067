"""The page of one run, of several seeds, or of several configs side by side."""

from __future__ import annotations

import importlib.metadata
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.view.report.html import render, write_page
from headwise.view.report.labels import phase_sentence
from headwise.view.report.members import Member
from headwise.view.report.page_data import page_data
from headwise.view.report.palette import PALETTE
from headwise.view.report.provenance import describe
from headwise.view.report.studies import Study, arrange
from headwise.view.report.study_phases import StudyPhases, find_phases
from headwise.view.report.watched import watched_sentence

SCRIPTS = (
    "data",
    "decode",
    "theme",
    "elements",
    "clock",
    "state",
    "events",
    "exporting",
    "panel",
    "heatmap",
    "strips",
    "lags",
    "examples",
    "roles",
    "pairs",
    "branches",
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
    members: Sequence[Member],
    *,
    title: str | None = None,
    command: str | None = None,
    live: Live | None = None,
    embedded: bool = False,
) -> str:
    """The page as text; `command` is the command line that makes it again, `embedded` says that it is put into a frame
    of a notebook.
    """
    studies = arrange(members)
    phases = [find_phases([m.trajectory for m in study.members], study.seeds) for study in studies]
    data = page_data(studies, phases)
    heading = title or _title(studies)
    written = int(time.time() * 1000)
    extra = {
        "palette": PALETTE,
        "title": heading,
        "live": {"every": live.every, "written": written} if live else None,
        "embedded": embedded,
    }
    context = {
        "title": heading,
        "summaries": _summaries(studies, phases),
        "kind": _kind(studies),
        "status": sorted({member.status for member in members}),
        "notes": [(study.label, found.notes) for study, found in zip(studies, phases, strict=True) if found.notes],
        "left_out": _left_out(data["studies"]),
        "studies": data["studies"],
        "provenance": describe(studies),
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


def _kind(studies: Sequence[Study]) -> str:
    if len(studies) > 1:
        return f"comparison of {len(studies)}"
    seeds = len(studies[0].members)
    first = studies[0].members[0]
    alone = "watched model" if first.is_foreign and not first.is_trained_here else "run"
    return f"study of {seeds} seeds" if seeds > 1 else alone


def _title(studies: Sequence[Study]) -> str:
    if len(studies) > 1:
        return " and ".join(study.label for study in studies)
    [study] = studies
    if len(study.members) > 1:
        return f"{study.label} · {len(study.members)} seeds"
    first = study.members[0]
    # The seed of a model that was trained elsewhere says nothing about its training.
    elsewhere = first.is_foreign and not first.is_trained_here
    return study.label if first.seed is None or elsewhere else f"{study.label} · seed {first.seed}"


def _summaries(studies: Sequence[Study], phases: Sequence[StudyPhases]) -> list[tuple[str, str]]:
    """One sentence a study: what happened in its reference seed."""
    sentences = []
    for study, found in zip(studies, phases, strict=True):
        report, member = found.reports[found.reference], study.members[found.reference]
        sentence = phase_sentence(report) if report is not None else ""
        if member.is_foreign:
            sentence = watched_sentence(report, member.trajectory)
        if sentence:
            sentences.append((f"{study.label}: " if len(studies) > 1 else "", sentence))
    return sentences


def _left_out(studies: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the page does not hold of its runs, to stay small."""
    notes = []
    for study in studies:
        for run in study["runs"]:
            for name, block in (("evaluations", run["curves"]), ("attention maps", run["maps"])):
                if block and len(block["steps"]) < block["of"]:
                    notes.append(
                        f"{study['label']}, {run['label']}: {len(block['steps'])} of {block['of']} {name} are on this "
                        "page, to keep it small; the run directory has all"
                    )
    return notes
