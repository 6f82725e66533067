"""Where a page's numbers come from: config, seeds, versions, commit and the commands that make them again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from headwise.core.keys import flatten
from headwise.store.manifest import typed
from headwise.view.report.members import Member
from headwise.view.report.studies import Study, differing_keys

ABOUT = ("commit", "engine", "device", "threads", "python", "platform", "started", "ended")


@dataclass(frozen=True)
class Table:
    """Rows of a name and one cell per column; `marked` rows are those in which the columns differ."""

    columns: list[str]
    rows: list[tuple[str, list[str]]]
    marked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Provenance:
    """Everything the last section of a page says."""

    runs: Table
    config: Table
    commands: list[str]


def describe(studies: Sequence[Study]) -> Provenance:
    """Tables with one column per study for configs, and per run for seeds, versions and times."""
    members = [member for study in studies for member in study.members]
    firsts = [study.members[0] for study in studies]
    return Provenance(
        runs=_runs(members, several_studies=len(studies) > 1),
        config=_config(studies, firsts),
        commands=list(dict.fromkeys(command for member in members if (command := made_by(member)))),
    )


def made_by(member: Member) -> str | None:
    """The command line that made a run, with the program's name in place of its path on that machine."""
    argv = member.manifest.get("argv")
    known = typed([str(part) for part in argv]) if isinstance(argv, list) else []
    if not known:
        return None
    first, rest = PurePath(known[0]), known[1:]
    if first.name == "__main__.py":
        return shlex.join(["python", "-m", first.parent.name, *rest])
    return shlex.join([*(["python"] if first.suffix == ".py" else []), first.name, *rest])


def shown(value: Any) -> str:
    """A config value as the command line would take it."""
    if value is None:
        return "not set"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _config(studies: Sequence[Study], firsts: Sequence[Member]) -> Table:
    flat = [flatten({k: v for k, v in member.config.items() if k != "seed"}) for member in firsts]
    keys = list(dict.fromkeys(key for one in flat for key in one))
    marked = frozenset(differing_keys([member.config for member in firsts]))
    order = [*(k for k in keys if k in marked), *(k for k in keys if k not in marked)]
    rows = [(key, [shown(one[key]) if key in one else "absent" for one in flat]) for key in order]
    return Table([study.label for study in studies], rows, marked)


def _runs(members: Sequence[Member], *, several_studies: bool) -> Table:
    rows: list[tuple[str, list[str]]] = [
        ("status", [member.status for member in members]),
        ("seed", ["none" if member.seed is None else str(member.seed) for member in members]),
    ]
    for key in ABOUT:
        cells = [member.manifest.get(key) for member in members]
        if any(cell is not None for cell in cells):
            rows.append((key, ["unknown" if cell is None else str(cell) for cell in cells]))
    versions = [member.manifest.get("versions", {}) for member in members]
    names = dict.fromkeys(name for one in versions for name in one)
    rows += [(name, [str(one.get(name, "unknown")) for one in versions]) for name in names]
    named = several_studies or any(member.seed is None for member in members)
    return Table([member.label if named else f"seed {member.seed}" for member in members], rows)
