"""Which panels a page has, with titles, units and dimensions, from the table of trajectory variables.

    dimensions   {name: {title}}
    variables    {name: {title, about, unit, label, limits, dimensions}}; the first dimension is time
    panels[]     {kind, title, shown, variables: [{name, choice}]}, in the order of the page

The script draws what it finds here and knows no variable by name.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headwise.core.variables import DIMENSIONS, PANEL_ORDER, VARIABLES, Variable


def drawn(names: Iterable[str]) -> list[Variable]:
    """The rows of those variables that have a panel, in the order of the table."""
    wanted = set(names)
    return [row for row in VARIABLES.values() if row.name in wanted and row.page]


def describe_panels(names: Iterable[str]) -> dict[str, Any]:
    """Dimensions, variables and panels of a page whose runs hold these variables."""
    rows = drawn(names)
    dimensions = {dim for row in rows for dim in row.dimensions}
    return {
        "dimensions": {dim: {"title": about.title} for dim, about in DIMENSIONS.items() if dim in dimensions},
        "variables": {
            row.name: {
                "title": row.title,
                "about": row.about,
                "unit": row.unit,
                "label": row.axis_name,
                "limits": list(row.limits),
                "dimensions": list(row.dimensions),
            }
            for row in rows
        },
        "panels": _panels(rows),
    }


def _panels(rows: list[Variable]) -> list[dict[str, Any]]:
    """Variables whose panels have the same kind and title share one."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for kind in PANEL_ORDER:
        for row in rows:
            for panel in row.page:
                if panel.kind != kind:
                    continue
                title = panel.title or row.title
                shared = found.setdefault(
                    (kind, title), {"kind": kind, "title": title, "shown": panel.shown, "variables": []}
                )
                shared["variables"].append({"name": row.name, "choice": panel.choice})
    return list(found.values())
