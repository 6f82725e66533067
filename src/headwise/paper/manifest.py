"""Every figure, table and claim of the paper by name, and the set that runs when no name is given."""

from __future__ import annotations

from collections.abc import Sequence

from headwise.core.errors import ConfigError
from headwise.core.keys import nearest_key
from headwise.paper.claims import (
    ablations,
    architecture,
    data,
    exact,
    flow,
    flow_heads,
    function_space,
    heads,
    restricted_context,
    variations,
)
from headwise.paper.entry import Claim, Figure
from headwise.paper.figures import FIGURES
from headwise.paper.levels import TABLES

_ALL: tuple[Claim | Figure, ...] = (
    *exact.CLAIMS,
    *function_space.CLAIMS,
    *restricted_context.CLAIMS,
    *heads.CLAIMS,
    *architecture.CLAIMS,
    *ablations.CLAIMS,
    *data.CLAIMS,
    *variations.CLAIMS,
    *flow.CLAIMS,
    *flow_heads.CLAIMS,
    *FIGURES,
    *TABLES,
)

ENTRIES: dict[str, Claim | Figure] = {entry.name: entry for entry in _ALL}

HEADLINE = (
    "representation",
    "symmetry",
    "gauge",
    "theorems",
    "order",
    "joint",
    "competition",
    "offshoot",
    "specialisation",
    "init-scale",
    "hierarchy",
    "data-size",
    "head-dynamics",
    "flow-stages",
    "flow-compensation",
    "fig-overview",
    "table-levels-minimal",
    "fig-ablations",
    "fig-generalization",
    "fig-collaboration",
    "fig-simulations",
)
"""Runs in minutes at quick scale."""


def select(names: Sequence[str]) -> list[Claim | Figure]:
    """Entries by name; an unknown name is answered with the nearest one."""
    for name in names:
        if name not in ENTRIES:
            raise ConfigError(f"unknown claim or figure {name!r}{nearest_key(name, ENTRIES)}; --list shows all of them")
    return [ENTRIES[name] for name in dict.fromkeys(names)]
