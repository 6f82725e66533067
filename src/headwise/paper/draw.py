"""Figures and tables of a plan, drawn into a folder, and the folder's own list of what is in it.

`figures.json` says which entry each picture shows, under which reading and at which scale, so that a later command
finds the pictures of an earlier one. In a list of schema 1 what is called published had a task for each seed, which is
`redrawn`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headwise.core.errors import ConfigError, HeadwiseError
from headwise.core.foreign_text import parse_json, read_foreign
from headwise.core.readings import reading_of
from headwise.paper.entry import Figure
from headwise.paper.folder import locked, write_json
from headwise.paper.plan import Pair, Plan
from headwise.paper.runs import gather
from headwise.paper.settings import KEY, settings_of

SCHEMA = 2
NAME = "figures.json"


@dataclass(frozen=True)
class Drawn:
    """A figure or table in a folder: its entry in the manifest, reading and scale, the picture, the seeds it shows and
    the settings of their runs.

    Lists written before seeds or settings were kept name none.
    """

    name: str
    preset: str
    scale: str
    picture: Path
    seeds: tuple[int, ...] = ()
    settings: str = ""


def draw_all(
    plan: Plan,
    into: Path,
    notify: Callable[[str], None] = lambda line: None,
    *,
    waiting: frozenset[Pair] = frozenset(),
) -> list[Drawn]:
    """PNG, PDF and CSV of every figure and table whose runs are there; what is left out is reported with its reason.

    One that is `waiting` for runs does not replace a picture of seeds that it would lack.
    """
    from headwise.view.write import write_sheet

    drawn = []
    there = {(one.name, one.preset): one for one in read_figures(into) if one.scale == plan.scale}
    for entry, preset in plan.pairs():
        if not isinstance(entry, Figure):
            continue
        evidence = gather(plan, entry, preset)
        if isinstance(evidence, str):
            notify(f"{entry.name} ({preset}) is not drawn: {evidence}")
            continue
        kept = there.get((entry.name, preset)) if (entry.name, preset) in waiting else None
        if kept is not None and set(kept.seeds) - set(evidence.seeds):
            seeds = ", ".join(map(str, kept.seeds))
            notify(
                f"{entry.name} ({preset}) is not drawn: the picture that is there shows seeds {seeds}, more than ran"
            )
            continue
        try:
            sheet = entry.compose(evidence)
        except ConfigError as error:
            notify(f"{entry.name} ({preset}) is not drawn: {error}")
            continue
        stem = into / f"{entry.name}-{preset}"
        picture, *_ = write_sheet(sheet, f"{stem}.png", f"{stem}.pdf")
        settings = settings_of(entry, preset, plan.scale)
        drawn.append(Drawn(entry.name, preset, plan.scale, picture, evidence.seeds, settings))
        notify(f"wrote {stem}.png, .pdf and .csv")
    return drawn


def add_figures(new: Sequence[Drawn], into: Path) -> list[Drawn]:
    """Enter figures into a folder's list and return all that it then names and that are there.

    A picture replaces one of the same name and reading, whatever its scale: they are one file.
    """
    path = into / NAME
    replaced = {(one.name, one.preset) for one in new}
    with locked(into):
        drawn = [one for one in read_figures(into) if (one.name, one.preset) not in replaced] + list(new)
        write_json(path, {"schema": SCHEMA, "figures": [_to_item(one) for one in drawn]})
    return drawn


def read_figures(into: Path) -> list[Drawn]:
    """What a folder's list names and the folder still has; nothing where there is no list."""
    path = into / NAME
    if not path.exists():
        return []
    try:
        document = parse_json(read_foreign(path))
        found = [
            Drawn(
                item["name"],
                reading_of(item["preset"], None) if document["schema"] == 1 else item["preset"],
                item["scale"],
                into / item["picture"],
                tuple(map(int, item.get("seeds", ()))),
                str(item.get(KEY, "")),
            )
            for item in document["figures"]
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise HeadwiseError(f"{path} is not a list of figures ({error}); move it away") from None
    return [one for one in found if one.picture.exists()]


def _to_item(one: Drawn) -> dict[str, Any]:
    return {
        "name": one.name,
        "preset": one.preset,
        "scale": one.scale,
        "picture": one.picture.name,
        "seeds": list(one.seeds),
        KEY: one.settings,
    }
