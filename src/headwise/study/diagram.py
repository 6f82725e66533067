"""A quantity of many runs over two config keys: the data of a phase diagram."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from headwise.core.errors import ConfigError

QUANTITIES = {
    "stages": ("stages.loss", "number of stages (loss reading)"),
    "stages-heads": ("stages.heads", "number of stages (heads reading)"),
    "competitive-end": ("competitive.end", "end of the competitive phase (step)"),
    "offshoots": ("offshoots", "offshoots"),
    "excess-loss": ("final.excess_loss", "final excess loss (nats)"),
}
"""What can be shown, the column of `runs.parquet` that holds it, and its label."""


@dataclass(frozen=True)
class Diagram:
    """The median over seeds in every cell, (y, x); NaN where no run has the quantity."""

    x_key: str
    y_key: str
    quantity: str
    label: str
    x: list[Any]
    y: list[Any]
    median: np.ndarray
    spread: np.ndarray
    """Largest minus smallest over seeds."""
    count: np.ndarray
    """Runs with the quantity."""


def phase_diagram(table: Path, *, x: str, y: str, quantity: str) -> Diagram:
    """Read a collected table, grouped by two config keys."""
    import pyarrow.parquet as pq

    if quantity not in QUANTITIES:
        raise ConfigError(f"--value {quantity}: take one of {', '.join(QUANTITIES)}")
    column, label = QUANTITIES[quantity]
    content = pq.read_table(table).to_pydict()
    for key in (x, y):
        if f"config.{key}" not in content:
            known = ", ".join(name.removeprefix("config.") for name in content if name.startswith("config."))
            raise ConfigError(f"no run has the key {key}; known: {known}")
    across, up = content[f"config.{x}"], content[f"config.{y}"]
    values = content.get(column, [None] * len(across))
    x_values, y_values = (sorted({v for v in axis if v is not None}, key=_order) for axis in (across, up))
    shape = (len(y_values), len(x_values))
    median, spread, count = np.full(shape, np.nan), np.full(shape, np.nan), np.zeros(shape, dtype=int)
    for j, y_value in enumerate(y_values):
        for i, x_value in enumerate(x_values):
            cell = [
                float(v)
                for v, a, b in zip(values, across, up, strict=True)
                if a == x_value and b == y_value and v is not None
            ]
            if cell:
                median[j, i], spread[j, i], count[j, i] = np.median(cell), max(cell) - min(cell), len(cell)
    return Diagram(x, y, quantity, label, x_values, y_values, median, spread, count)


def _order(value: Any) -> tuple[int, Any]:
    return (0, value) if isinstance(value, int | float) else (1, str(value))
