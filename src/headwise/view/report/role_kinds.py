"""The roles that the heads of a watched model have, with the words and the colour that the page gives each.

A colour never stands alone: every cell and every bar also has the role's name, or can be asked for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headwise.phases.heads_now import role_text
from headwise.phases.run_report import RunReport

NAMED = {
    "self": ("own", "#66CCEE"),
    "previous": ("prev", "#4477AA"),
    "first": ("first", "#CCBB44"),
    "window": ("near", "#228833"),
    "induction": ("ind", "#EE6677"),
    "duplicate": ("dup", "#AA3377"),
}
"""What fits a cell, and the colour, of roles with a name."""

OTHERS = ("#44AA99", "#999933", "#CC6677", "#7B68C8", "#DDAA33", "#88AACC", "#AA4499", "#BB7744", "#77AA55", "#5588AA")
"""Colours of other lags and of token classes, in the order in which they appear."""


def role_kinds(reports: Sequence[RunReport | None]) -> list[dict[str, Any]]:
    """Every role in these reports, in order of its first appearance."""
    events = sorted((event for report in reports if report for event in report.roles), key=lambda event: event.start)
    names = dict.fromkeys(event.role for event in events)
    others = [name for name in names if name not in NAMED]
    return [
        {
            "role": name,
            "text": role_text(name),
            "short": NAMED[name][0] if name in NAMED else name.removeprefix("class:")[:6],
            "colour": NAMED[name][1] if name in NAMED else OTHERS[others.index(name) % len(OTHERS)],
        }
        for name in names
    ]
