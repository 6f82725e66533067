"""Which panels a page has, with titles, units and dimensions, from the table of trajectory variables.

    dimensions   {name: {title}}
    variables    {name: {title, about, unit, label, limits, dimensions, band}}; the first dimension is time;
                 `band` names the lower and the upper end of a variable's noise, or is null
    panels[]     {kind, title, shown, about, variables: [{name, choice}]}, in the order of the page

A variable that is drawn of each entry of a dimension becomes one of its own for every entry, `role_score:induction`.
The script draws what it finds here and knows no variable by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headwise.core.variables import DIMENSIONS, PANEL_ORDER, VARIABLES, PagePanel, Variable
from headwise.phases.heads_now import role_text

BANDS = {"loss": ("loss:low", "loss:high")}
"""Variables with a noise of their own, and what the ends of it are called among the curves."""
BAND_WORDS = " The band reaches two standard errors of that mean to either side."


def drawn(names: Iterable[str], *, watched: bool = False) -> list[Variable]:
    """The rows of those variables that have a panel, in the order of the table; some only of watched models."""
    wanted = set(names)
    return [row for row in VARIABLES.values() if row.name in wanted and _panels_of(row, watched=watched)]


def _panels_of(row: Variable, *, watched: bool) -> list[PagePanel]:
    return [panel for panel in row.page if watched or panel.shown != "of watched models"]


def describe_panels(
    names: Iterable[str], *, watched: bool = False, entries: Mapping[str, Sequence[str]] | None = None
) -> dict[str, Any]:
    """Dimensions, variables and panels of a page whose runs hold these variables.

    `entries` are the entries of dimensions by which variables are split.
    """
    rows = drawn(names, watched=watched)
    dimensions = {dim for row in rows for dim in row.dimensions}
    return {
        "dimensions": {dim: {"title": about.title} for dim, about in DIMENSIONS.items() if dim in dimensions},
        "variables": {
            name: {
                "title": row.title,
                "about": row.about + _band_words(row, watched=watched),
                "unit": row.unit,
                "label": row.axis_name,
                "limits": list(row.limits),
                "dimensions": [dim for dim in row.dimensions if name == row.name or dim != split_by(row)],
                "band": list(BANDS[name]) if watched and name in BANDS else None,
            }
            for row in rows
            for name in (row.name, *(split_name(row, entry) for entry in (entries or {}).get(split_by(row), ())))
        },
        "panels": _panels(rows, watched=watched, entries=entries or {}),
    }


def _band_words(row: Variable, *, watched: bool) -> str:
    return BAND_WORDS if watched and row.name in BANDS else ""


def split_by(row: Variable) -> str:
    """The dimension of whose entries a variable is drawn one by one; empty for most."""
    return next((panel.of_each for panel in row.page if panel.of_each), "")


def split_name(row: Variable, entry: str) -> str:
    """What one entry's part of a split variable is called."""
    return f"{row.name}:{entry}"


def _panels(rows: list[Variable], *, watched: bool, entries: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Variables whose panels have the same kind and title share one."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for kind in PANEL_ORDER:
        for row in rows:
            for panel in _panels_of(row, watched=watched):
                if panel.kind != kind:
                    continue
                title = panel.title or row.title
                words = (panel.about or row.about) + _band_words(row, watched=watched)
                about = {"about": words, "shown": panel.shown, "variables": []}
                shared = found.setdefault((kind, title), {"kind": kind, "title": title, **about})
                if panel.of_each:
                    named = role_text if panel.of_each == "role" else str
                    split = entries.get(panel.of_each, ())
                    shared["variables"] += [{"name": split_name(row, e), "choice": named(e)} for e in split]
                else:
                    shared["variables"].append({"name": row.name, "choice": panel.choice})
    return [panel for panel in found.values() if panel["variables"]]
